// Defines Star: the quorum that STAR's heuristic chooses, an arm to hold others against (Z. Zhang,
// H. Shen, Straggler tolerant and resilient DL training on homogeneous GPUs, arXiv 2512.09685,
// 2025; formulas from the authors' code, github.com/pcl-projects/Training-Sync-Mode).
//
// t_1 <= ... <= t_n are the seconds that the workers' next steps are expected to take, s2 and N the
// variance of one sample's gradient and the squared norm of the gradient, S(x) the samples of the x
// fastest:
// - nobody straggles, t_n <= 1.2 t_1: all n.
// - else the first x with T(x) < T(x + 1), n if there is none:
//     T(x) = I(x) (1 + s2 / (S(x) N))    seconds between updates, times the updates needed
//     I(x) = I(1) + (t_n - I(1)) (t_x - t_1) / (t_n - t_1),   I(1) = 1 / sum of 1 / t_i
// STAR updates on the first x pushes whatever version they are of, by x / n of a step: late Weigh,
// modulation None and updateScale PerWorker beside this quorum are that.
//
// It expects what an LSTM makes of processors and links, and knows s2 / N from runs before; here
// both are running means of what was seen. Its groups of alike workers, which update by themselves,
// are not here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/schemes/dbw/fleet.h"
#include "lib/sync/schemes/dbw/options.h"
#include "lib/sync/schemes/estimates/noise_scale.h"
#include "lib/sync/schemes/quorum.h"
#include "lib/sync/schemes/rivals/step_clock.h"

namespace paceline::sync {

class Star : public Quorum {
 public:
  explicit Star(const DbwOptions& options);

  // As Dbw::Make.
  static StatusOr<std::unique_ptr<Star>> Make(const DbwOptions& options, std::string_view saved);

  void Observe(const StepFact& fact, Time now) override;
  uint32_t PushesWanted(uint32_t taking_part) const override;
  double LearningRateScale(uint32_t pushes) const override;
  std::optional<Time> Deadline() const override { return clock_.deadline(); }
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override;
  std::string DebugString() const override;
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<Star>(*this); }

 private:
  void On(const StepBegan& began, Time now);
  void On(const PushCounted& push, Time now);
  void On(const PushLate& push, Time now);
  void On(const StepClosed& closed, Time now);
  void On(const StepCommitted& committed, Time now);
  void On(const SizesChanged&, Time) { fleet_.DoubtAll(); }
  void On(const WorkerForgotten& gone, Time) { fleet_.Forget(gone.worker); }
  void On(const SilentGivenUp&, Time) { clock_.GaveUp(); }
  void On(const Spare&, Time) {}
  uint32_t Choose();

  DbwOptions options_;
  StepClock clock_;
  Fleet fleet_;
  NoiseScale noise_;
  uint32_t k_ = 1;
  uint32_t members_ = 0;
  uint32_t workers_ = 0;
};

// x, of `seconds` rising, where the x fastest have `samples[x - 1]` together. As many of each, at
// least one; seconds above 0.
uint32_t StarQuorum(const std::vector<double>& seconds, const std::vector<double>& samples,
                    double sample_variance, double squared_gradient);

}  // namespace paceline::sync
