// Decides whether a worker's step hangs: by the progress that its heartbeats tell, not by their
// coming.
#pragma once

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// The worker that hangs is expelled, under every scheme. A step without a sign of progress counts,
// and, for much longer, a script that does something else before it makes its step. Transfers are
// judged by their bytes elsewhere, and what spec.chaos injects is exempt.
void OnHeartbeat(Turn turn, ConnectionId connection, const protocol::Heartbeat& beat);

// A finite or other push: how long the worker takes for a sample, which tells how long a step may.
void LearnPace(JobState& job, WorkerId worker, const protocol::PushDone& done);

}  // namespace paceline::coordination
