// Defines how rounds end and begin, and who is sent on afterwards.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

// Pushes that the open round needs, of those that may still come.
uint32_t PushesNeeded(const EngineState& state);

// Everybody who is held takes part in it.
void OpenRound(Turn turn);

// Commits what the open round holds, which is something, and opens the next one.
void CloseRound(Turn turn);

// What is only staged is given back.
void DropStaged(Turn turn);

// After each event while training runs: closes the round if it is over, and sends on whom that, or
// what happened, lets go on.
void Settle(Turn turn);

// Tells the quorum of the round that has begun on the newest version, which is published.
void TellBegan(Turn turn);

}  // namespace paceline::sync
