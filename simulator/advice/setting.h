// Defines Setting: what of a recorded job matters where other schemes are tried for it.
#pragma once

#include <cstdint>
#include <string>

#include "lib/base/status.h"
#include "simulator/calibration/recording.h"

namespace paceline::simulator {

struct Setting {
  std::string manifest;         // The job's; of a trace alone, one that says as much as it does.
  bool is_job_known = false;    // The manifest is the job's own.
  std::string optimizer;        // "SGD"; empty: not known.
  double momentum = 0;          // Share of the last update that is kept; 0 where it is not known.
  double rate = 0;              // Of the job; of a trace alone, the largest that it has.
  uint64_t warmup_steps = 0;    // Of the rate, in global batches; 0 where they are not known.
  double simulated_rate = 0.5;  // That stands for the job's where the objective is descended.
};

// A step of SGD with momentum goes rate / (1 - momentum) far in the end. The objective's largest
// curvature is 1, so that training at less than kLeastReach takes for ever, and at more than
// kMostReach is about to fail under any scheme: a rate beyond these is taken as the nearest that is
// not. Of optimizers whose rate is in other units kUsualReach is taken.
inline constexpr double kLeastReach = 0.05, kUsualReach = 0.5, kMostReach = 1;

// `job_json` is the job as its run's folder has it; empty: not known. InvalidArgument if that is
// not a job that could run, or the recording's policy cannot be read.
StatusOr<Setting> SettingOf(const std::string& job_json, const Recording& recording);

}  // namespace paceline::simulator
