// Defines PushMicroseconds: what a push costs from the fact in to the effects out, with the
// policy's decisions carried out: leases, ledgers, orders to the shards.
#pragma once

#include <cstdint>

#include "lib/sync/schemes/policy_spec.h"

namespace paceline::bench {

// Mean processor time of a push of a scheme in which workers wait for their releases, over so many
// pushes of each worker, one shard.
double PushMicroseconds(sync::Scheme scheme, uint32_t workers, uint32_t steps);

}  // namespace paceline::bench
