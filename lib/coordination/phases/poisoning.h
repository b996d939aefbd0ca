// Decides who is to blame when a push is not finite or a process ends: the worker, or its samples.
#pragma once

#include <vector>

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// Before the policy hears of a push: remembers whose it is that it is not finite. True if it is its
// samples', so that it is nobody's strike.
bool IsSamplesFault(Turn turn, const Session& session, const protocol::PushDone& done);

// After the grant of a lease: what the worker computes it on. kOwnCopy: on what its last push left;
// kPulled: on a version that it is to pull first.
enum class Base { kOwnCopy, kPulled };
void NoteBase(JobState& job, WorkerId worker, Base base);

// Leases that the worker holds and that no push of it has used up, in the order in which they are
// computed.
std::vector<protocol::LeaseId> Unpushed(const JobState& job, WorkerId worker);

// A worker's process has ended, or is being ended: the step that it was in may be why. Of one that
// hung the last heartbeat names it; one that ended may have got further since.
enum class EndOfProcess { kHung, kEnded };
void AccuseStepOf(JobState& job, WorkerId worker, EndOfProcess end);

// Whether the worker cannot go on because of its script, not of the samples that it was on: the
// script fails so whatever samples it is given. That is known where a process has failed for that
// cause before, neither process had made a step, and no worker has failed on these samples before.
// Asked once for each such message, before the worker is removed.
bool IsScriptsFault(JobState& job, WorkerId worker, const protocol::Failing& failing);

// Tells of samples that are poisoned, and left out from now on, and ends training where nothing
// else was missing.
void TellPoisoned(Turn turn);

}  // namespace paceline::coordination
