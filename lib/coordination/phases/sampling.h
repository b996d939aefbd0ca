// Decides whether workers draw alike from their script's own sampler: an epoch is what it draws,
// and everybody draws for himself.
#pragma once

#include <string>

#include "lib/coordination/phases/state.h"

namespace paceline::coordination {

// In words, if the newcomer's script has another sampler than those before it; else empty.
std::string OtherSampler(const JobState& job, const protocol::Join& join);
// The first worker's is the job's. Of an admitted worker.
void AdoptSampler(JobState& job, const protocol::Join& join);

// What a worker drew for an epoch: the job fails where another one drew something else.
void OnDrawn(Turn turn, ConnectionId connection, const protocol::Drawn& drawn);

}  // namespace paceline::coordination
