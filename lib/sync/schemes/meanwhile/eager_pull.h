// Eager pull (Jin et al. 2022): the answer to a push, the pull of a newer version, travels while
// the worker computes on. It holds a lease for the step that it makes and one for each answer that
// may be under way meanwhile.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

void SendOnEager(Turn turn, Member& member);

}  // namespace paceline::sync
