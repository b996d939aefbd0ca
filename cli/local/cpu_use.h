// Defines CpuMeter: how many cores the processes of a run keep busy.
#pragma once

#include <optional>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::local {

// CPU time of this process' children, all their threads, user and system: those that are alive and
// those that were waited for. Internal if /proc cannot be read.
StatusOr<Duration> CpuTimeOfChildren();

// One owner at a time.
class CpuMeter {
 public:
  // Call it again and again while what is to be measured goes on.
  void Look();
  // CPU time by wall time between the first look and the last; nothing with fewer than two.
  std::optional<double> cores() const;

 private:
  struct Reading {
    Time at;
    Duration cpu;
  };
  std::optional<Reading> first_;
  std::optional<Reading> last_;
};

}  // namespace paceline::local
