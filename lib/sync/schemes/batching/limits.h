// Defines BatchLimits: the least and the most that each worker may be given, what memory has taught
// included, and what they leave of the global batch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/sync/schemes/batching/apportion.h"

namespace paceline::sync {

class BatchLimits {
 public:
  BatchLimits(uint32_t global_batch_size, Bounds all) : total_(global_batch_size), all_(all) {}

  // The worker ran out of memory; so many samples are believed to fit.
  void Learn(WorkerId worker, uint32_t samples_fit);
  // The worker is gone; the one that takes its place may have another machine.
  void Forget(WorkerId worker) { fits_.erase(worker); }

  struct Fit {
    std::vector<Bounds> bounds;  // Of each worker.
    uint64_t total = 0;          // What their parts add up to.
  };
  Fit For(const std::vector<WorkerId>& workers) const;

  // For a step of `total` samples. The mean over fewer samples is noisier, so the rate goes down
  // with them; it never goes up.
  double LearningRateScale(uint64_t total) const;

  uint32_t total() const { return total_; }

  // What was learnt, a line a worker. Restore takes it back; DataLoss if it cannot be read.
  std::string Save() const;
  Status Restore(std::string_view saved);
  std::string DebugString() const;

 private:
  uint32_t total_;
  Bounds all_;
  std::map<WorkerId, uint32_t> fits_;
};

}  // namespace paceline::sync
