// Defines how the global batch is shared out over the members.
//
// Where a round is strict, shares change with it. Elsewhere they change once a round, or once in as
// many pushes as there are members where each makes a version; and where somebody comes, goes or
// runs out of memory, falls silent or is heard of again, at once.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

// Whether members have the shares that were given out last. Otherwise all have equal ones, which
// need not be given out.
//
// Who was given up as silent has no part, and goes on with the share that it had when it is heard
// of; but where more than half are, they are slow rather than gone.
bool HasShares(const EngineState& state);

// New shares for all members that have a part.
void ShareOut(Turn turn);

// The same, if something has made it due.
void ShareOutIfDue(Turn turn);

// A push counted where each makes a version.
void NoteSweep(EngineState& state);

// Whether the pushes of the open round hold as many samples as `k` members' part is of the batch.
// Where shares differ, small ones may be the first to come every time, and without this the batch
// would shrink towards them.
bool HoldsPartOf(const EngineState& state, uint32_t k);

}  // namespace paceline::sync
