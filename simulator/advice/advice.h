// Defines Advise: what would have been faster than a recorded run, of arms that are tried on its
// cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "simulator/advice/judge.h"
#include "simulator/advice/setting.h"

namespace paceline::simulator {

// All that is known of a run, what was tried and what came of it.
struct Report {
  std::string source;  // What the recording was read from.
  Recording recording;
  Setting setting;
  ClusterOptions cluster;  // As it was fitted, with the goal.
  uint32_t seeds = 0;
  std::vector<LeftOut> left_out;
  Advice advice;
};

// Told before each arm.
using OnArm = std::function<void(const std::string& name, size_t done, size_t all)>;

// Calibrates and tries all. InvalidArgument, saying what is missing, if the trace cannot be read or
// tells too little (at least kStepsMin steps of some worker are wanted, its first two left out).
StatusOr<Report> Advise(const std::string& trace, const std::string& job_json,
                        const std::string& source, uint32_t seeds, const OnArm& on_arm);

inline constexpr uint64_t kStepsMin = 10;

}  // namespace paceline::simulator
