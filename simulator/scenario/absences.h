// Defines TakeAbsences: what a kind of worker says of when its processes end, begin, and cannot be
// reached.
#pragma once

#include <cstdint>

#include "simulator/driver/cluster.h"
#include "simulator/scenario/fields.h"

namespace paceline::simulator {

// Of `count` workers from number `first` on: joinsAtSeconds, crashes, outages.
void TakeAbsences(Fields& fields, uint32_t first, uint32_t count, ClusterOptions& cluster);

// Whether anybody is left, or comes back, in the end; of a cluster with workers.
bool IsAnybodyLeft(const ClusterOptions& cluster);

}  // namespace paceline::simulator
