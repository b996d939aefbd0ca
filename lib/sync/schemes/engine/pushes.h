// Defines what becomes of a push.
#pragma once

#include "lib/sync/contract/event.h"
#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

void OnPush(Turn turn, const PushArrived& push);

}  // namespace paceline::sync
