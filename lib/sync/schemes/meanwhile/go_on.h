// Go on: a push is accumulated as it comes, with its final weight, and its worker released at once
// on the newest version, which its own push is not in yet.
#pragma once

#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

void SendOnAtOnce(Turn turn, Member& member);

}  // namespace paceline::sync
