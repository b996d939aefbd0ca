// Defines what follows the loss of a shard, or gradients that are not finite: a new generation that
// goes on from the newest complete checkpoint, or from startup where there is none.
#pragma once

#include <string>

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// At the start of a coordinator: a checkpoint that was found is what it goes on from.
void GoOnFromFound(JobState& job);

void OnShardGone(Turn turn, ShardId shard, const std::string& reason);
// Likewise, of a session that ended by itself: its process ended, or its link.
void OnShardEnded(Turn turn, ShardId shard, const std::string& reason);
void OnShardFailed(Turn turn, ShardId shard, const protocol::ShardFailed& failed);
// The checkpoint is of no use: the one before it, or one that is being completed, or the job fails.
void OnRestoreFailed(Turn turn, ShardId shard, const protocol::RestoreFailed& failed);

// A checkpoint that was being completed is there, or is not: if one that cannot be restored waits
// for that, it is what the job goes back to.
void OnCheckpointAnswered(Turn turn);

// All that came after the newest complete checkpoint is void. Workers' sessions are closed: they
// join anew. Fails the job where that was in vain too often, ends it where it was being suspended.
void RollBack(Turn turn, const std::string& reason);

// The model is at fault: the same, with a smaller learning rate from there on, from the second time
// in a row one checkpoint further; or the end of the job, as NonFiniteOptions say.
void RollBackNonFinite(Turn turn, const std::string& reason);

}  // namespace paceline::coordination
