// Defines HealthWatch: when a process that does not answer well is thought to hang.
#pragma once

#include <algorithm>
#include <chrono>

#include "lib/base/time.h"

namespace paceline::local {

// A value. Three bad answers in a row at least: this process may itself have stood still meanwhile.
class HealthWatch {
 public:
  explicit HealthWatch(Duration patience) : patience_(patience) {}

  // From now on it can be asked; another one than before.
  void Begin(Time now) {
    well_at_ = now;
    bad_answers_ = 0;
  }
  bool IsDue(Time now) const { return now - asked_at_ >= kPeriod; }
  // How long an answer may take.
  Duration timeout() const { return std::min<Duration>(kTimeoutMax, patience_ / kBadAnswersMin); }
  // What it answered when it was asked, which began at `asked` and is over `now`. True: it hangs.
  bool Answered(bool is_well, Time asked, Time now) {
    asked_at_ = asked;
    if (is_well) Begin(now);
    if (!is_well) ++bad_answers_;
    return bad_answers_ >= kBadAnswersMin && now - well_at_ >= patience_;
  }

 private:
  static constexpr Duration kPeriod = std::chrono::seconds(1);
  static constexpr Duration kTimeoutMax = std::chrono::seconds(2);
  static constexpr int kBadAnswersMin = 3;

  Duration patience_;
  Time asked_at_{};
  Time well_at_{};
  int bad_answers_ = 0;
};

}  // namespace paceline::local
