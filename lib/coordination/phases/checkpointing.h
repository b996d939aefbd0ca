// Defines how checkpoints come about beside training: when one is begun, what it says, and when it
// counts.
//
// The cut is one Step: the commit's order goes to the shards, the shell keeps what the policy says,
// and the shards are told to write what that commit left. No later decision gets into it.
#pragma once

#include <string>
#include <vector>

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// Whether the commit that is being decided shall be a checkpoint's.
bool IsCheckpointDue(Turn turn);

// From one to the next.
Duration Period(const JobState& job);

// Of the newest version that was asked for: its commit was just sent, or nothing is under way.
// There must be a place for checkpoints and no attempt.
void StartCheckpoint(Turn turn);

void OnSliceSaved(Turn turn, ShardId shard, const protocol::SliceSaved& saved);
void OnCheckpointSaved(Turn turn, const CheckpointSaved& saved);

// Shards that write no more and do not answer: the attempt is given up, training goes on.
void GiveUpLateCheckpoint(Turn turn);

}  // namespace paceline::coordination
