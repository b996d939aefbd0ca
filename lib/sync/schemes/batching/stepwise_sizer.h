// Defines StepwiseSizer: tunes shares by measured step times, without a model of speed (LB-BSP on
// GPUs, whose time does not grow in proportion with the batch).
//
// Every few steps it looks at each worker's mean time. Spread below the dead band: nothing changes.
// Far apart: sizes are worked out from the curve that is fitted to each worker's times. Between the
// two, or where that gains nothing: a few samples move from the slowest to the fastest; where a
// move would follow the way back of the one before, fewer move, and it looks longer. From a worker
// that has been seen to be no faster with fewer, none move.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/schemes/batching/batch_sizer.h"
#include "lib/sync/schemes/batching/limits.h"
#include "lib/sync/schemes/batching/measured_curve.h"
#include "lib/sync/schemes/batching/sizing_spec.h"

namespace paceline::sync {

class StepwiseSizer : public BatchSizer {
 public:
  struct Options {
    uint32_t global_batch_size = 1;
    SizingSpec spec;  // Of Stepwise.
  };

  explicit StepwiseSizer(const Options& options);

  void Joined(WorkerId worker) override;
  void Left(WorkerId worker) override;
  void Arrived(const PushArrived& push) override;
  void RanOutOfMemory(WorkerId worker, uint32_t samples_fit) override;
  void StepClosed() override { ++steps_; }
  std::vector<uint32_t> ShareOut(const std::vector<WorkerId>& workers) override;
  double LearningRateScale() const override { return limits_.LearningRateScale(step_samples_); }
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override;
  std::unique_ptr<BatchSizer> Clone() const override {
    return std::make_unique<StepwiseSizer>(*this);
  }
  std::string DebugString() const override;

  // Takes back what Save gave, also of another strategy; DataLoss if it cannot be read.
  Status Restore(std::string_view saved);

 private:
  struct Worker {
    uint32_t share = 0;    // 0: not in a step yet.
    uint32_t to_skip = 1;  // Steps whose time does not count: the first, and the first of a size.
    uint32_t times = 0;    // That count since the last look, and their sum.
    double seconds = 0;
    double mean = 0;  // At the last look, of `mean_share` samples.
    uint32_t mean_share = 0;
    MeasuredCurve curve;                        // Of all looks.
    std::optional<double> memory, memory_most;  // Bytes available: now, and the most ever.
  };
  using Pair = std::pair<WorkerId, WorkerId>;  // From, to.

  void BeginAnew(const std::vector<WorkerId>& workers);
  bool IsLookDue(const std::vector<WorkerId>& workers) const;
  void Look(const std::vector<WorkerId>& workers, const BatchLimits::Fit& fit);
  bool Rapid(const std::vector<WorkerId>& workers, const BatchLimits::Fit& fit);
  void Fine(const std::vector<WorkerId>& workers, const BatchLimits::Fit& fit);
  std::optional<std::vector<TimeCurve>> Curves(const std::vector<WorkerId>& workers) const;
  bool HasMemoryFor(const Worker& worker, uint32_t more) const;
  void Give(WorkerId id, uint32_t share);
  uint32_t FirstStep(size_t workers) const;

  Options options_;
  BatchLimits limits_;
  std::map<WorkerId, Worker> workers_;
  std::map<WorkerId, MeasuredCurve> known_;  // Of those that left or are yet to join.
  std::string others_;                       // What other strategies saved.
  std::vector<WorkerId> sharing_;            // Whom the step last shared out is for.
  uint64_t step_samples_ = 0;
  uint32_t steps_ = 0;       // Closed since the last look.
  bool must_change_ = true;  // Membership or limits have changed.
  uint32_t step_ = 1;        // Samples that a fine change moves.
  uint32_t period_ = 1;      // Steps from look to look.
  uint32_t fine_only_ = 0;   // Looks until rapid changes are allowed again.
  double spread_ = 0;        // At the last look.
  std::optional<Pair> last_move_;
  uint64_t fine_ = 0, rapid_ = 0, oscillations_ = 0, out_of_memory_ = 0;
};

}  // namespace paceline::sync
