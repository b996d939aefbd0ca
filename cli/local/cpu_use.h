// Defines CpuMeter: how many cores the processes of a run keep busy.
#pragma once

#include <optional>

#include "lib/base/status.h"
#include "lib/base/time.h"

namespace paceline::local {

// CPU time of this process' children that are alive, all their threads, user and system. Internal
// if /proc cannot be read.
StatusOr<Duration> CpuTimeOfChildren();

// One owner at a time.
class CpuMeter {
 public:
  // Call it again and again while what is to be measured goes on.
  void Look();
  // CPU time by wall time between the first look and the last; 0 with fewer than two. A process
  // that ended in between takes its time along: then it is too little, never too much.
  double cores() const;

 private:
  struct Reading {
    Time at;
    Duration cpu;
  };
  std::optional<Reading> first_;
  std::optional<Reading> last_;
};

}  // namespace paceline::local
