// Defines the designated member, whose push alone ends a round: the slowest there is.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

// Elects one where there is none, or where the one there is cannot end the round. Until each member
// has been measured, there is none, and all are waited for.
void ElectIfDue(EngineState& state);

// Whether the open round waits for the designated member, or nothing if there is none.
std::optional<bool> IsDesignatedAwaited(const EngineState& state);

}  // namespace paceline::sync
