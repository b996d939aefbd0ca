// Defines SpeedSizer: shares in proportion to predicted speeds, so that all finish together
// (LB-BSP on CPUs: x_i = X v_i / sum v).
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/schemes/batching/batch_sizer.h"
#include "lib/sync/schemes/batching/limits.h"
#include "lib/sync/schemes/batching/sizing_spec.h"
#include "lib/sync/schemes/batching/speed_predictor.h"

namespace paceline::sync {

// A worker of unknown speed counts as the mean of the known ones, so that it gets about X/n: the
// time of a smaller first batch would be mostly what does not depend on its size.
class SpeedSizer : public BatchSizer {
 public:
  struct Options {
    uint32_t global_batch_size = 1;
    SizingSpec spec;            // Of EMA or NARX.
    uint32_t period_steps = 1;  // Steps between two changes; more where another controller learns
                                // from the same times (schemes 2.11-7).
  };

  explicit SpeedSizer(const Options& options);

  void Joined(WorkerId worker) override;
  void Left(WorkerId worker) override;
  void Arrived(const PushArrived& push) override;
  void RanOutOfMemory(WorkerId worker, uint32_t samples_fit) override;
  void StepClosed() override;
  void StepPublished() override { is_published_ = true; }
  std::vector<uint32_t> ShareOut(const std::vector<WorkerId>& workers) override;
  double LearningRateScale() const override { return limits_.LearningRateScale(step_samples_); }
  bool WantsSpare() const override { return is_published_ && !due_.empty(); }
  void UseSpare(uint32_t budget) override;
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override;
  std::unique_ptr<BatchSizer> Clone() const override { return std::make_unique<SpeedSizer>(*this); }
  std::string DebugString() const override;

  // Takes back what Save gave, also of another strategy; DataLoss if it cannot be read.
  Status Restore(std::string_view saved);

 private:
  struct Worker {
    explicit Worker(const SpeedPredictor::Options& options) : predictor(options) {}
    SpeedPredictor predictor;
    uint32_t share = 0;
    double compute_seconds = 0;  // Of its latest step that counted.
    bool is_warm = false;        // Its first step, which sets up kernels and memory, is over.
  };
  Worker NewWorker(WorkerId worker) const;
  static bool IsDue(const Worker& worker);

  Options options_;
  BatchLimits limits_;
  std::map<WorkerId, Worker> workers_;
  std::map<WorkerId, SpeedPredictor> known_;  // Of those that left or are yet to join.
  std::string others_;                        // What other strategies saved.
  std::deque<WorkerId> due_;  // Whose networks are to be trained: the longest waiting one first.
  std::vector<WorkerId> sharing_;  // Whom the step last shared out is for...
  uint64_t step_samples_ = 0;      // ...and its samples.
  uint32_t steps_since_change_ = 0;
  bool must_change_ = true;   // Membership or limits have changed.
  bool is_published_ = true;  // The newest step's releases are out.
  uint64_t adjustments_ = 0, out_of_memory_ = 0;
};

}  // namespace paceline::sync
