// Defines what shards' answers to commits do: a version is published when all have it, its samples
// are committed, and the releases that waited for it go out.
#pragma once

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

void OnSummed(Turn turn, ShardId shard, const protocol::Summed& summed);
void OnPrepared(Turn turn, ShardId shard, const protocol::Prepared& prepared);
void OnCommitted(Turn turn, ShardId shard, const protocol::Committed& committed);

}  // namespace paceline::coordination
