// Defines how members come and go, and what else is told of them than their pushes.
#pragma once

#include "lib/sync/contract/event.h"
#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

void OnJoined(Turn turn, const WorkerJoined& joined);
void OnLeft(Turn turn, const WorkerLeft& left);
void OnAbandoned(Turn turn, const StepAbandoned& abandoned);
void OnOutOfData(Turn turn, const OutOfData& out);

// Its pushes were not finite too often in a row. `member` is none afterwards.
void ExpelMember(Turn turn, Member& member);

}  // namespace paceline::sync
