// Defines VirtualWorker: what a worker that waits for the answer to each push is doing.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/protocol/worker_messages.h"
#include "simulator/driver/virtual_shard.h"
#include "simulator/model/computing.h"

namespace paceline::simulator {

struct VirtualWorker {
  enum class Doing { kWaiting, kPulling, kComputing, kPushing };

  VirtualWorker(const ComputeModel& model, uint64_t seed, uint64_t index)
      : computing(model, seed, index), chance(seed, "gradient", index) {}

  Computing computing;
  RandomStream chance;  // Of its gradients.

  Doing doing = Doing::kWaiting;
  Time since{};           // It is doing that.
  uint64_t turn = 0;      // Happenings of another turn are void: their step was given up.
  Sequence sequence;      // Of the step in work, or of the last one.
  protocol::Lease lease;  // Likewise, as all until `has`.
  uint32_t samples = 0;
  Copy base;                  // What it is, or will be, computed on.
  sync::Timing timing;        // Since the push before it, or the step that was given up.
  double pushed_seconds = 0;  // Of computing, in its last push.

  std::optional<Copy> has;       // That was pulled last.
  std::optional<Copy> fetching;  // On its way.
};

}  // namespace paceline::simulator
