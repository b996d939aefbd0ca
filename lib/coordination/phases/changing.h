// Defines what may change while a job runs: the policy, how many workers are wanted, and who is to
// leave.
//
// A policy is changed in three moves. The old one is quiesced: it answers every push and releases
// nobody. Once all that it committed is published, the shell makes the new one, which hears
// WorkerJoined of all members that owe nothing. Whoever is still in the middle of a step then is
// late: its push is dropped, its samples go back, and it joins the new policy.
//
// Other knobs of the same scheme need none of that: the policy is told Reconfigured and goes on.
#pragma once

#include <optional>

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

void OnSpecChanged(Turn turn, const SpecChanged& changed);
void OnDrainAsked(Turn turn, const DrainAsked& asked);

// Takes every step that the state allows; after each fact in kTraining.
void AdvanceChange(Turn turn);
// When what the old policy left unanswered is given up.
std::optional<Time> ChangeDeadline(const JobState& job);

// Has a lease and no push staged: it computes, or is about to.
bool OwesPush(const JobState& job, WorkerId worker);

// Whether anything is computed, staged or committed: another version will come, or a loss.
bool IsBusy(const JobState& job);

// The push that just arrived was asked for by a policy that is gone.
void DropLate(Turn turn, const Session& session, Sequence sequence);
// A late worker owes nothing any more; the policy hears that it joined, even where it leaves next:
// samples came back.
void WelcomeLate(Turn turn, WorkerId worker);
// It has answered: if it was asked to leave, it goes.
void LetGo(Turn turn, const Session& session);

}  // namespace paceline::coordination
