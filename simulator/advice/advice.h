// Defines Advise: what would have been faster than a recorded run, of arms that are tried on its
// cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "simulator/advice/judge.h"
#include "simulator/advice/on_model.h"
#include "simulator/advice/setting.h"

namespace paceline::simulator {

// All that is known of a run, what was tried and what came of it.
struct Report {
  std::string source;  // What the recording was read from.
  Recording recording;
  Setting setting;
  double simulated_seconds = 0;  // A version of the recorded scheme, over as many as there are.
  ClusterOptions cluster;        // As it was fitted, with the goal.
  uint32_t seeds = 0;
  std::vector<LeftOut> left_out;
  // On the quadratic, where workers do not hinder each other (calibration/still.h); absent: they do
  // not share a machine, or it is not known.
  std::optional<Advice> still;
  Advice advice;  // On the quadratic.
  // What came of the best few on the job's own model; absent: it was not tried.
  std::optional<OnModel> on_model;
  std::string why_no_model;  // Where it was not: in words.

  // What is told to whoever asks: the model's, where there is one.
  const Advice& verdict() const { return on_model ? on_model->advice : advice; }
  // What would have been told before all else, had processes on one machine not hindered each other
  // (Advice::Refused), on the model or else on the quadratic; null: there is nothing.
  const ArmAdvice* Refused() const {
    const ArmAdvice* const refused = verdict().Refused();
    return refused != nullptr ? refused : advice.Refused();
  }
};

struct AdviseOptions {
  std::string source;  // For people: what the trace was read from.
  // All of the run's processes shared a machine: what is faster only since they hindered each other
  // is not advised.
  bool is_on_one_machine = false;
  uint32_t seeds = 9;
  OnArm on_arm;
  // The job's own; absent: there is none that could be tried, and `why_no_model` says why.
  std::optional<OwnModel> model = std::nullopt;
  std::string why_no_model = "";
  double model_seconds = 120;  // For trials of it, about.
  Clock now = {};              // For these.
};

// Calibrates and tries all. `job_json` is the run's job; empty: not known. InvalidArgument, saying
// what is missing, if the trace cannot be read or tells too little (at least kStepsMin steps of
// some worker are wanted, its first two left out). Trials on the model that fail leave the rest as
// it is.
StatusOr<Report> Advise(const std::string& trace, const std::string& job_json,
                        const AdviseOptions& options);

inline constexpr uint64_t kStepsMin = 10;

}  // namespace paceline::simulator
