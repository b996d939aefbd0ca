// Eager pull (Jin et al. 2022): the answer to a push, the pull of a newer version, travels while
// the worker computes on. It holds a lease for the step that it makes and one more, for the step
// that it begins while that one's push is under way. The pull may take longer than a step: depth
// says how many own pushes the version may lack that a step begins on.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

void SendOnEager(Turn turn, Member& member);

}  // namespace paceline::sync
