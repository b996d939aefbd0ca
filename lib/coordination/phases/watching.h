// Defines how shards are found to be lost that neither say so nor end their session, and what is
// told of shards that are waited for.
#pragma once

#include <string>
#include <vector>

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

void OnShardHeartbeat(Turn turn, ShardId shard, const protocol::ShardHeartbeat& beat);

// Those that are silent, or do not get on with an order: their sessions are closed, so that each
// may register anew, and all goes on as when one ended.
void LoseOverdueShards(Turn turn);

// At the end of each Step: what each shard owes now.
void NoteDuties(Turn turn);

// For Report.
std::vector<Status::LostShard> LostShards(const JobState& job);
std::vector<Status::ShardWait> ShardWaits(const JobState& job);

}  // namespace paceline::coordination
