// Defines how a checkpoint holds what was learnt of a worker's speed: one line of text a worker.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/sync/schemes/batching/speed_predictor.h"

namespace paceline::sync {

struct LearntSpeed {
  WorkerId worker;
  double mean = 0;
  std::optional<Narx::Learnt> network;
};

// Without its end; numbers read back bit for bit.
std::string FormatLearnt(WorkerId worker, const SpeedPredictor& predictor);

// DataLoss naming what is wrong.
StatusOr<LearntSpeed> ParseLearnt(std::string_view line);

}  // namespace paceline::sync
