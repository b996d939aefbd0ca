// Defines Fleet: how fast each worker is, how large its batches are, and how often it counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/sync/contract/event.h"
#include "lib/sync/contract/figure.h"

namespace paceline::sync {

class Fleet {
 public:
  // A push came; `is_counted` if its step took it.
  void Pushed(WorkerId worker, uint32_t samples, const Timing& timing, bool is_counted);
  void Forget(WorkerId worker) { workers_.erase(worker); }
  // Batches are of other sizes from now on: each worker's next push that counts says its time and
  // size anew.
  void DoubtAll();

  // Orders the workers anew; call now and then, it takes n log n.
  void Sort();

  // Samples of the `k` workers that were fastest when last sorted, k >= 1; of workers not known
  // then, the mean batch.
  double BatchOfFastest(uint32_t k) const;
  // When last sorted, rising: from release to push, and samples of the fastest so many together.
  const std::vector<double>& seconds_of_fastest() const { return seconds_of_fastest_; }
  const std::vector<double>& samples_of_fastest() const { return samples_of_fastest_; }

  void Tell(std::vector<Figure>& figures) const;
  std::string DebugString() const;

 private:
  struct Worker {
    double seconds = 0;   // From release to push, a running mean...
    double samples = 0;   // ...and of its batch.
    double accepted = 1;  // Share of its pushes that counted, likewise.
    bool is_doubted = false;
  };

  std::map<WorkerId, Worker> workers_;
  std::vector<double> seconds_of_fastest_;
  std::vector<double> samples_of_fastest_;  // Of the k fastest at k - 1.
  double mean_batch_ = 1;
};

}  // namespace paceline::sync
