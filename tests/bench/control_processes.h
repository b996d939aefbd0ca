// Defines the processes of bench_control: a coordinator with a shard, one more shard, and workers
// that compute nothing worth the name; all but the arithmetic is the product's own.
#pragma once

#include <cstdint>
#include <string>

#include "lib/rpc/bulk/parameter_client.h"
#include "tests/bench/child_process.h"

namespace paceline::bench {

inline constexpr uint32_t kControlShards = 2;

// Known to all processes before they are forked.
struct ControlSetup {
  uint32_t workers = 1;
  uint64_t parameters = 0;
  uint64_t steps = 0;
  std::string folder;  // For sockets.
  std::string Address(const std::string& name) const { return "unix:" + folder + "/" + name; }
};

// What happened between the last push of a step and the releases of its version, in microseconds.
struct StepTimes {
  double release;        // Last push arrived to the last worker's release sent...
  double first_release;  // ...and to the first one's.
  double shards;         // Commit sent to the first shard until the last one has acknowledged.
};

// Sends a StepCount, then so many StepTimes, when the job is over.
struct StepCount {
  uint64_t steps;
};
void RunControlCoordinator(const ControlSetup& setup, Line& line);
void RunControlShard(const ControlSetup& setup, Line& line);
void RunControlWorker(const ControlSetup& setup, uint32_t index, Line& line);

}  // namespace paceline::bench
