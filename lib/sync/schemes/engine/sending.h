// Defines how a worker is sent on: which leases it gets, on what it computes, or why it waits.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

// Looks at a member that may go on; where it may not, it is looked at again when that changes.
void SendOn(Turn turn, Member& member);

// --- For the meanwhiles (lib/sync/schemes/meanwhile).

// Whether there is nothing that it could find: then it stands in line until samples return.
bool IsStuck(EngineState& state, Member& member);

// Whether the window stops it: then it is looked at when the slowest has gone on.
bool IsStopped(EngineState& state, Member& member);

// Releases it on the newest version, to push one gradient.
void ReleaseToWait(Turn turn, Member& member);

// With the samples of its next push; the rest is the meanwhile's.
Assignment AssignmentOf(const EngineState& state, const Member& member);

// What was assigned is not for those in line.
void UseUp(EngineState& state, const Assignment& assignment);

// --- For the end of an Observe.

// Sends on as many of those in line as the samples left are for.
void CallFromLine(Turn turn);
Member* FirstInLine(EngineState& state);  // Null: nobody is.

}  // namespace paceline::sync
