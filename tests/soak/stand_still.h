// Defines StandStill: how long training stood still, and whether it still does for no reason.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace paceline::soak {

// Where training is: a later generation begins at an earlier step.
struct Place {
  uint64_t start = 0, counter = 0, step = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

// A value; `now` is in seconds and never decreases.
class StandStill {
 public:
  // `patience_seconds`: without a step for so long, while no fault is at work, it hangs.
  explicit StandStill(double patience_seconds, double now)
      : patience_(patience_seconds), moved_(now), excused_until_(now) {}

  // Who does not answer saw nothing: `place` is absent then. A new generation is no step.
  void Saw(double now, const std::optional<Place>& place);

  void FaultBegan() { ++at_work_; }
  void FaultEnded(double now) {
    --at_work_;
    excused_until_ = now;
  }
  // Something else that training has to wait for has happened, such as an order to finish.
  void Excuse(double now) { excused_until_ = now; }

  bool IsHung(double now) const {
    return at_work_ == 0 && now - std::max(moved_, excused_until_) >= patience_;
  }
  // Steps seen since the last call.
  uint64_t TakeSteps() { return std::exchange(steps_, 0); }
  double longest_seconds() const { return longest_; }  // Between two steps.
  // The same since the last call.
  double TakeLongest() { return std::exchange(recent_, 0); }
  double standing_seconds(double now) const { return now - moved_; }
  bool is_at_work() const { return at_work_ > 0; }

 private:
  const double patience_;
  double moved_;
  double excused_until_;
  double longest_ = 0, recent_ = 0;
  int at_work_ = 0;
  uint64_t steps_ = 0;
  std::optional<Place> place_;
};

}  // namespace paceline::soak
