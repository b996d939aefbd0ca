// Defines the first phase of a job: shards register, the first worker's layout is cut over them,
// its initial values fill them, and training opens when enough workers have joined.
#pragma once

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// Registered, Configured, Filled, Opened of a shard.
void OnRegister(Turn turn, ShardId shard);
// A worker hands over frozen tensors before it joins: the time that workers have to join begins
// again with each piece.
void OnFrozenArriving(Turn turn, const FrozenArriving& arriving);
void OnStartupWord(Turn turn, ShardId shard, const protocol::ShardMessage& message);

// Takes every step that the state allows; after each fact in kStartup.
void AdvanceStartup(Turn turn);

std::optional<Time> StartupDeadline(const JobState& job);
std::string StartupWaitsFor(const JobState& job);

}  // namespace paceline::coordination
