// Defines StallWatch: whether the loss still falls, or has come to rest on the noise of gradients.
//
// A sweep is as many samples as the global batch; its loss is that of the pushes that hold them.
// Where the mean of the last kWindow sweeps is not 5 % below that of as many before, training
// counts as stalled for the next 30 sweeps, twice as long each time: what is tried too early is
// noise again. Fewer sweeps than both windows say nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace paceline::sync {

class StallWatch {
 public:
  static constexpr size_t kWindow = 12;

  // What Restore takes; of the windows nothing.
  struct Kept {
    uint32_t stalls = 0;       // So far.
    uint64_t sweeps_left = 0;  // Until the loss is looked at again; 0: it is.
  };

  // A sweep ended. A loss that is no number is one that did not fall.
  void EndSweep(double loss);
  bool is_stalled() const { return kept_.sweeps_left > 0; }

  const Kept& kept() const { return kept_; }
  void Restore(const Kept& kept) { kept_ = kept; }

 private:
  bool HasFallen() const;

  Kept kept_;
  std::deque<double> losses_;  // At most two windows.
};

}  // namespace paceline::sync
