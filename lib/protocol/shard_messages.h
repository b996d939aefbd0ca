// Defines what a shard and the coordinator say to each other, as values. Orders are carried out in
// the order sent; the shard in the coordinator's own process gets the same orders without a
// network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/version.h"
#include "lib/optim/optimizer.h"
#include "lib/optim/parameter_groups.h"
#include "lib/protocol/seat.h"
#include "lib/store/layout.h"
#include "lib/store/sha256.h"
#include "lib/store/shard.h"

namespace paceline::protocol {

// --- Shard to coordinator.

struct Register {
  ShardId shard;
  std::string address;
};  // First message. `address`: where workers reach it.
struct Configured {
  Generation generation;
};  // All that the shard says from here on is of that generation.
struct Filled {
  WorkerId worker;
  Incarnation incarnation;
};                 // That worker has streamed all initial values.
struct Opened {};  // The first version is published: 0, or the restored one.
struct Summed {
  Version version;
  std::vector<double> block_squared_norms;
};  // Of the open sum.
struct Prepared {
  Version version;
  std::vector<store::TensorNorms> norms;  // A tensor comes once for each block that it lies in.
};
struct Committed {
  Version version;
  std::vector<double> block_squared_norms;
};  // Of the mean gradient.
struct ShardFailed {
  std::string reason;
  Generation generation;
};  // An order could not be carried out: of no more use until it is configured anew.
struct RestoreFailed {
  std::string reason;
  Generation generation;
};  // Instead of Configured: this shard's slice of the checkpoint is missing or damaged.
struct SliceSaved {
  std::string checkpoint;
  store::FileDigest digest;
  std::string problem;  // Empty: it is on disk.
};
// Each second, while it lives.
struct ShardHeartbeat {
  uint64_t work_done = 0;    // Counts what was done for orders; grows as long as it gets on.
  uint64_t saved_bytes = 0;  // Written into checkpoints.
};

// How one is copied, moved and ended is compiled once, in shard_messages.cc: it is long for so many
// kinds.
struct ShardMessage
    : std::variant<Register, Configured, Filled, Opened, Summed, Committed, ShardFailed,
                   ShardHeartbeat, RestoreFailed, SliceSaved, Prepared> {
  using variant::variant;
  ShardMessage();
  ShardMessage(const ShardMessage& other);
  ShardMessage(ShardMessage&& other) noexcept;
  ShardMessage& operator=(const ShardMessage& other);
  ShardMessage& operator=(ShardMessage&& other) noexcept;
  ~ShardMessage();
};

// --- Coordinator to shard.

// Where a shard's slice comes from, if not from a worker.
struct RestoreSlice {
  std::string checkpoint;  // Its name: a folder of the shard's checkpoint volume.
  Version version;
  store::FileDigest digest;                    // Of this shard's file.
  std::optional<Version> kept = std::nullopt;  // Of the same file, not newer: to be pinned.
};
struct Configure {
  Generation generation;  // Newer than any before.
  store::Layout layout;
  store::Slice slice;
  optim::OptimizerOptions optimizer;
  uint32_t slots_per_worker = 1;
  uint32_t workers_max = 1024;
  std::optional<RestoreSlice> restore = std::nullopt;  // Then it opens by itself.
  std::vector<optim::ParameterGroup> parameter_groups = {};
  std::optional<double> average_decay = std::nullopt;  // Absent: no moving average is kept.
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
struct Admit {
  WorkerId worker;
  Incarnation incarnation;
  Seat seat = {};  // Where the job has groups; the worker's certificate names it.
};  // Take that life's pushes and fills, and no other's of the worker; newer than any before.
struct Sum {
  Version version;
};  // Report the norms of the sum that `version` will apply.
// Report the norms by which a layer-wise optimizer will step to `version`; change nothing.
struct Prepare {
  Version version;
  double gradient_scale = 1;  // As in the commit to come.
  double clip_scale = 1;
};
struct CommitAll {
  std::vector<AccumulateOrder> pushes;  // The whole list: the shard accumulates what it lacks.
  store::CommitOrder commit;
};
struct Unpin {
  Version version;
};
// Write what is published now, and the optimizer's state of that version, into that checkpoint;
// beside training. Answered by SliceSaved.
struct SaveSlice {
  std::string checkpoint;
  Version version;                // The newest, as orders before this one left it.
  std::vector<std::string> keep;  // Checkpoints that are needed; the shard's slices of others go.
  // A pinned version, as readers of its average get it where one is kept: goes into the file, too.
  std::optional<Version> kept = std::nullopt;
};
struct StopShard {};

// How one is copied, moved and ended is compiled once, in shard_messages.cc: it is long for so many
// kinds.
struct ShardOrder : std::variant<Configure, Open, AccumulateOrder, DropOrder, Fence, Sum, CommitAll,
                                 Unpin, StopShard, SaveSlice, Admit, Prepare> {
  using variant::variant;
  ShardOrder();
  ShardOrder(const ShardOrder& other);
  ShardOrder(ShardOrder&& other) noexcept;
  ShardOrder& operator=(const ShardOrder& other);
  ShardOrder& operator=(ShardOrder&& other) noexcept;
  ~ShardOrder();
};

}  // namespace paceline::protocol
