// Defines FirstPods: where jobs come by the dozen, the first pods of all go before the first status
// of any (docs/adr/0019).
#pragma once

#include <atomic>
#include <chrono>

#include "lib/base/time.h"

namespace paceline::controller {

// Thread-safe.
class FirstPods {
 public:
  // For so long at the most a job's first status waits for the pods of others.
  static constexpr Duration kPatience = std::chrono::seconds(3);

  // As long as it lives, some job's first pods are being made.
  class Making {
   public:
    explicit Making(FirstPods* of) : of_(of) { ++of_->making_; }
    ~Making() { --of_->making_; }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

   private:
    FirstPods* const of_;
  };

  // Whether a job whose own were made at `made` gives way now.
  bool GoBefore(Time made, Time now) const { return making_ > 0 && now - made < kPatience; }

 private:
  std::atomic<int> making_ = 0;
};

}  // namespace paceline::controller
