// Defines how members come and go: Join, the refusals, and all that a loss entails.
#pragma once

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// Schedules advance by samples, and an epoch's are known only now.
void CompleteSchedule(CoordinatorOptions& options, uint64_t train_samples);

void OnJoin(Turn turn, ConnectionId connection, const protocol::Join& join);

// Tells every shard whose pushes and fills to take from now on, and whose certificate speaks for
// it.
void AdmitToShards(Turn turn, const Session& session);

// Takes the member out at once: its staged pushes are dropped, its leases go back, its life is
// fenced on every shard, the policy is told. What it has in the open sum stays. Nothing if it is no
// member. Called by Lose only.
void Remove(Turn turn, const Loss& loss);

// Members that were silent for too long.
void LoseSilent(Turn turn);

}  // namespace paceline::coordination
