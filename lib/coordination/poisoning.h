// Decides who is to blame when a push is not finite or a process ends: the worker, or its samples.
#pragma once

#include "lib/coordination/state.h"

namespace paceline::coordination {

// Before the policy hears of a push: remembers whose it is that it is not finite. True if it is its
// samples', so that it is nobody's strike.
bool IsSamplesFault(Turn turn, const Session& session, const protocol::PushDone& done);

// A worker's process has ended, or is being ended: the step that it was in may be why.
void AccuseStepOf(JobState& job, WorkerId worker);

// Tells of samples that are poisoned, and left out from now on, and ends training where nothing
// else was missing.
void TellPoisoned(Turn turn);

}  // namespace paceline::coordination
