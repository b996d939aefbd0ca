// Defines OnModel: what came of the best few of the schemes that were tried, on the job's own
// model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "simulator/advice/judge.h"
#include "simulator/advice/own_model.h"
#include "simulator/advice/timed_objective.h"
#include "simulator/advice/try_arms.h"

namespace paceline::simulator {

struct OnModel {
  ModelSetting setting;
  double look_seconds = 0;  // Between two looks of the evaluator, as simulated.
  uint32_t seeds = 0;
  std::vector<LeftOut> left_out;
  Advice advice;
};

struct OnModelOptions {
  uint32_t seeds_max = 9;
  double seconds = 120;  // Of `now`: fewer seeds live where they would take longer.
  Clock now;
  OnArm on_arm;
  const Advice* still = nullptr;  // As Judge has it.
};

inline constexpr uint32_t kSeedsLeast = 3;
// Arms that are tried on the model, beside the recorded one, Auto and the best DBW.
inline constexpr size_t kFavourites = 4;

// Of arms that were judged on the quadratic, those that are worth a trial on the model, the best
// first: the kFavourites best that may be advised; Auto; and the best DBW, which decides by
// gradients, so that the quadratic says less of it than of others.
std::vector<std::string> WorthATrial(const Advice& screened);

// Tries the recorded arm and those. Takes half more than the seconds at most; arms that there is no
// time left for are left out. `cluster` is the fitted one; the recorded arm is one of `arms`.
// DeadlineExceeded where lives are too long for kSeedsLeast of them of two arms;
// FailedPrecondition where the recorded arm alone was done; the errors of its lives.
StatusOr<OnModel> TryOnModel(const OwnModel& model, const ClusterOptions& cluster,
                             double recorded_seconds, const std::vector<TriedArm>& arms,
                             const Advice& screened, const OnModelOptions& options);

}  // namespace paceline::simulator
