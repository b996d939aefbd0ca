// Local steps (Yang et al., Parallel Computing 121, 2024): fast workers step on from their own copy
// and push what they change, while the slowest finishes its step.
//
// A worker holds as many leases as it may make steps before an answer: one; or two and more, by
// what its pushes take, where they travel while it computes.
//
// Normalised, a push weighs m/t: t its worker's mean steps in a round, m the mean of those. So the
// sum is (mean tau) x mean(delta_i / tau_i) where paces last (FedNova, Wang et al., 2020), and as
// large as without. The weights are those of the rounds before: what is added cannot be weighed
// again when the round ends.
#pragma once

#include "lib/sync/contract/event.h"
#include "lib/sync/schemes/engine/state.h"

namespace paceline::sync {

void SendOnLocal(Turn turn, Member& member);

// What a push says of its worker's pace.
void MeasureLocal(const PushArrived& push, Member& member);

// Of a push: 1/n, or more or less of it where it is normalised.
double WeightOfRound(const EngineState& state, const Member& member);

// The members of the round that begins, and what was made in the one before.
void OpenLocalRound(Turn turn);

// Who is busy fetches the version meanwhile.
void OfferLocal(Turn turn);

// Whether it takes part, or may.
bool HasData(const Member& member);

}  // namespace paceline::sync
