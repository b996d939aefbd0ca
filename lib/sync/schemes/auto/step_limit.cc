#include "lib/sync/schemes/auto/step_limit.h"

#include <algorithm>
#include <cmath>

namespace paceline::sync {
namespace {

constexpr double kNewest = 0.1;
// A single round raises the usual no further, times itself: it is what the limit is there for.
constexpr double kMost = 10;

}  // namespace

double StepLimit::Scale(double share, double squared_norm) const {
  const double left_out = 1 - std::clamp(share, 0.0, 1.0);
  const double most = usual_.Or(0) / std::sqrt(2 * left_out);  // Of all: infinite.
  const bool is_known = usual_.Or(0) > 0 && std::isfinite(squared_norm);
  return is_known && squared_norm > most ? std::sqrt(most / squared_norm) : 1;
}

void StepLimit::Add(double squared_norm) {
  if (!std::isfinite(squared_norm)) return;
  const double usual = usual_.Or(0);
  usual_.Add(usual > 0 ? std::min(squared_norm, kMost * usual) : squared_norm, kNewest);
}

}  // namespace paceline::sync
