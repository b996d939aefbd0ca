// Defines StepClock: how long steps take, and when who is silent in one is given up.
#pragma once

#include <optional>
#include <string>

#include <fmt/format.h>

#include "lib/base/time.h"
#include "lib/sync/schemes/dbw/options.h"
#include "lib/sync/schemes/dbw/silence_watch.h"

namespace paceline::sync {

class StepClock {
 public:
  explicit StepClock(const DbwOptions& options)
      : silence_(options.silence_factor, options.silence_seconds) {}

  void Began(Time now) {
    began_ = now;
    silence_.Began(now, mean_seconds_);
  }
  void Closed(Time now) {
    constexpr double kNewest = 0.2;
    const double seconds = ToSeconds(now - began_);
    mean_seconds_ = mean_seconds_ ? *mean_seconds_ + kNewest * (seconds - *mean_seconds_) : seconds;
    silence_.Ended();
  }
  void GaveUp() { silence_.Ended(); }

  Time began() const { return began_; }
  std::optional<Time> deadline() const { return silence_.deadline(); }

  std::string DebugString() const {
    std::string text;
    if (mean_seconds_) text += fmt::format(" step {}", *mean_seconds_);
    if (silence_.deadline())
      text += fmt::format(" until {}", ToSeconds(*silence_.deadline() - began_));
    return text;
  }

 private:
  SilenceWatch silence_;
  std::optional<double> mean_seconds_;
  Time began_{};
};

}  // namespace paceline::sync
