// Push, then wait for the release.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

void SendOnWaiting(Turn turn, Member& member);

}  // namespace paceline::sync
