// Defines SilenceWatch: when a step has waited so long that who is silent is given up.
#pragma once

#include <algorithm>
#include <optional>

#include "lib/base/time.h"

namespace paceline::sync {

class SilenceWatch {
 public:
  // `factor` times what is expected, or `seconds` while nothing is.
  SilenceWatch(double factor, double seconds) : factor_(factor), seconds_(seconds) {}

  void Began(Time now, std::optional<double> seconds_expected) {
    // Below a second, a pause of the machine would do.
    constexpr double kLeast = 1, kMost = 1e6;
    const double wait = seconds_expected ? factor_ * *seconds_expected : seconds_;
    deadline_ = now + Seconds(std::clamp(wait, kLeast, kMost));
  }
  void Ended() { deadline_.reset(); }
  std::optional<Time> deadline() const { return deadline_; }

 private:
  double factor_;
  double seconds_;
  std::optional<Time> deadline_;
};

}  // namespace paceline::sync
