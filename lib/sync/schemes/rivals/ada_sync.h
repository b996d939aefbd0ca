// Defines AdaSync: a quorum that grows as the loss falls, an arm to compare dynamic backup workers
// with (after S. Dutta, J. Wang, G. Joshi, Slow and stale gradients can win the race, 2021).
//
// k = min(n, round(K0 sqrt(F_0 / F_now))), judged anew after each slice of time; F_now is the mean
// loss over the slice.
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
#include "lib/sync/schemes/quorum.h"
#include "lib/sync/schemes/rivals/step_clock.h"

namespace paceline::sync {

class AdaSync : public Quorum {
 public:
  explicit AdaSync(const DbwOptions& options);

  // As Dbw::Make.
  static StatusOr<std::unique_ptr<AdaSync>> Make(const DbwOptions& options, std::string_view saved);

  void Observe(const StepFact& fact, Time now) override;
  uint32_t PushesWanted(uint32_t taking_part) const override;
  double LearningRateScale(uint32_t pushes) const override;
  std::optional<Time> Deadline() const override { return clock_.deadline(); }
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override;
  std::string DebugString() const override;
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<AdaSync>(*this); }

 private:
  void On(const StepBegan& began, Time now);
  void On(const PushCounted& push, Time now);
  void On(const StepClosed& closed, Time now);
  template <class Other>
  void On(const Other&, Time) {}
  void JudgeIfDue(Time now);

  DbwOptions options_;
  StepClock clock_;
  uint32_t k_;
  std::optional<double> first_loss_;
  double loss_sum_ = 0;  // Over the slice's samples.
  double samples_ = 0;
  std::optional<Time> slice_began_;
  uint32_t members_ = 0;
  uint32_t workers_ = 0;
  Fleet fleet_;
};

}  // namespace paceline::sync
