// Defines the words for the enums of events and decisions: one vocabulary for traces, metrics, logs
// and tests.
//
// Example:
//   ToString(DropReason::kSuperseded)          // "superseded"
//   FromString<DropReason>("superseded")       // DropReason::kSuperseded
//   for (const auto& [reason, word] : WordsOf(DropReason{})) ...   // all of them, in order
#pragma once

#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/event.h"
#include "lib/sync/contract/word.h"

namespace paceline::sync {

inline constexpr Word<DropReason> kDropReasonWords[] = {
    {DropReason::kSuperseded, "superseded"}, {DropReason::kTooStale, "too-stale"},
    {DropReason::kNonFinite, "non-finite"},  {DropReason::kWorkerLeft, "worker-left"},
    {DropReason::kQuiescing, "quiescing"},
};
constexpr Words<DropReason> WordsOf(DropReason) { return kDropReasonWords; }

inline constexpr Word<ExpelReason> kExpelReasonWords[] = {
    {ExpelReason::kNonFiniteRepeatedly, "non-finite-repeatedly"},
    {ExpelReason::kTooSlow, "too-slow"},
};
constexpr Words<ExpelReason> WordsOf(ExpelReason) { return kExpelReasonWords; }

inline constexpr Word<RollBackReason> kRollBackReasonWords[] = {
    {RollBackReason::kNonFinite, "non-finite"},
};
constexpr Words<RollBackReason> WordsOf(RollBackReason) { return kRollBackReasonWords; }

inline constexpr Word<Way> kWayWords[] = {
    {Way::kBarrier, "barrier"},
    {Way::kAsync, "async"},
};
constexpr Words<Way> WordsOf(Way) { return kWayWords; }

inline constexpr Word<ChoiceReason> kChoiceReasonWords[] = {
    {ChoiceReason::kFaster, "faster"},     {ChoiceReason::kMembers, "members"},
    {ChoiceReason::kOverdue, "overdue"},   {ChoiceReason::kLossRose, "loss-rose"},
    {ChoiceReason::kMeasured, "measured"},
};
constexpr Words<ChoiceReason> WordsOf(ChoiceReason) { return kChoiceReasonWords; }

inline constexpr Word<Pacing> kPacingWords[] = {
    {Pacing::kWait, "wait"},
    {Pacing::kKeepGoing, "keep-going"},
    {Pacing::kOverlapped, "overlapped"},
    {Pacing::kEagerPull, "eager-pull"},
};
constexpr Words<Pacing> WordsOf(Pacing) { return kPacingWords; }

inline constexpr Word<OnPull> kOnPullWords[] = {
    {OnPull::kRebase, "rebase"},
    {OnPull::kOverwrite, "overwrite"},
};
constexpr Words<OnPull> WordsOf(OnPull) { return kOnPullWords; }

inline constexpr Word<MomentumOnPull> kMomentumOnPullWords[] = {
    {MomentumOnPull::kKeep, "keep"},
    {MomentumOnPull::kReset, "reset"},
};
constexpr Words<MomentumOnPull> WordsOf(MomentumOnPull) { return kMomentumOnPullWords; }

inline constexpr Word<LeaveReason> kLeaveReasonWords[] = {
    {LeaveReason::kDrained, "drained"},
    {LeaveReason::kDisconnected, "disconnected"},
    {LeaveReason::kSilent, "silent"},
    {LeaveReason::kExpelled, "expelled"},
};
constexpr Words<LeaveReason> WordsOf(LeaveReason) { return kLeaveReasonWords; }

inline constexpr Word<AbandonReason> kAbandonReasonWords[] = {
    {AbandonReason::kInterrupted, "interrupted"},
    {AbandonReason::kOutOfMemory, "out-of-memory"},
    {AbandonReason::kOverflow, "overflow"},
};
constexpr Words<AbandonReason> WordsOf(AbandonReason) { return kAbandonReasonWords; }

inline constexpr Word<QuiesceReason> kQuiesceReasonWords[] = {
    {QuiesceReason::kStop, "stop"},
    {QuiesceReason::kSuspend, "suspend"},
    {QuiesceReason::kSchemeChange, "scheme-change"},
};
constexpr Words<QuiesceReason> WordsOf(QuiesceReason) { return kQuiesceReasonWords; }

}  // namespace paceline::sync
