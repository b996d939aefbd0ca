// Defines what a shard and the coordinator say to each other, as values. Orders are carried out in
// the order sent; the shard in the coordinator's own process gets the same orders without a
// network.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/version.h"
#include "lib/optim/optimizer.h"
#include "lib/store/layout.h"
#include "lib/store/shard.h"

namespace paceline::protocol {

// --- Shard to coordinator.

struct Register {
  ShardId shard;
  std::string address;
};  // First message. `address`: where workers reach it.
struct Configured {};
struct Filled {
  WorkerId worker;
  Incarnation incarnation;
};                 // That worker has streamed all initial values.
struct Opened {};  // Version 0 is published.
struct Summed {
  Version version;
  std::vector<double> block_squared_norms;
};  // Of the open sum.
struct Committed {
  Version version;
  std::vector<double> block_squared_norms;
};  // Of the mean gradient.
struct ShardFailed {
  std::string reason;
};  // An order could not be carried out: the shard is of no more use.
struct ShardHeartbeat {};

using ShardMessage = std::variant<Register, Configured, Filled, Opened, Summed, Committed,
                                  ShardFailed, ShardHeartbeat>;

// --- Coordinator to shard.

struct Configure {
  Generation generation;
  store::Layout layout;
  store::Slice slice;
  optim::OptimizerOptions optimizer;
  uint32_t slots_per_worker = 1;
  uint32_t workers_max = 1024;
};
struct Open {
  WorkerId worker;
  Incarnation incarnation;
};  // Publish what that worker filled in.
struct AccumulateOrder {
  store::PushId push;
  double weight = 0;
};
struct DropOrder {
  store::PushId push;
};
struct Fence {
  WorkerId worker;
  Incarnation incarnation;
};  // Forget that life of the worker and all earlier ones, and refuse their pushes.
struct Sum {
  Version version;
};  // Report the norms of the sum that `version` will apply.
struct CommitAll {
  std::vector<AccumulateOrder> pushes;  // The whole list: the shard accumulates what it lacks.
  store::CommitOrder commit;
};
struct Unpin {
  Version version;
};
struct StopShard {};

using ShardOrder = std::variant<Configure, Open, AccumulateOrder, DropOrder, Fence, Sum, CommitAll,
                                Unpin, StopShard>;

}  // namespace paceline::protocol
