#include "lib/sync/schemes/modulation/modulation.h"

#include <algorithm>
#include <cmath>

namespace paceline::sync {
namespace {

double Unbounded(const ModulationOptions& options, const Lateness& lateness) {
  const double expected = lateness.workers - 1;
  const double missed = std::max<double>(static_cast<double>(lateness.missed), expected);
  switch (options.rule) {
    case Modulation::kStaleness:
      return std::pow(expected / missed, options.power);
    case Modulation::kInverse:
      return 1 / std::max<double>(static_cast<double>(lateness.missed), 1);
    case Modulation::kExponential:
      // In units of what is expected, so that `power` means the same for any number of workers.
      return std::exp(-options.power * (missed / expected - 1));
    case Modulation::kProgressGap:
      return std::pow(lateness.pace, options.power);
    case Modulation::kNone:
      break;
  }
  return 1;
}

}  // namespace

double LearningRateScale(const ModulationOptions& options, const Lateness& lateness) {
  if (lateness.workers <= 1) return 1;
  return std::clamp(Unbounded(options, lateness), options.scale_min, 1.0);
}

}  // namespace paceline::sync
