// Defines BatchLimits: the least and the most that each worker may be given, what memory has taught
// included, and what they leave of the global batch.
#pragma once

#include <cstdint>
#include <map>
#include <set>
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
  // The one that takes the place of a worker that is gone may have another machine. Until then its
  // limit is known, and saved: a job that is suspended loses its workers before its last
  // checkpoint.
  void Left(WorkerId worker) {
    if (fits_.contains(worker)) gone_.insert(worker);
  }
  void Joined(WorkerId worker) {
    if (gone_.erase(worker) > 0) fits_.erase(worker);
  }

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
  std::set<WorkerId> gone_;  // Of those in fits_.
};

}  // namespace paceline::sync
