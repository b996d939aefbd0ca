#include "lib/job/checks/capabilities.h"

namespace paceline::job {

std::set<Scheme> EverySchemeThereIs() {
  std::set<Scheme> schemes;
  for (size_t i = 0; i < Words(Scheme{}).size(); ++i) schemes.insert(static_cast<Scheme>(i));
  return schemes;
}

Capabilities Capabilities::All() {
  return {.batch_strategies = {BatchStrategy::kEqual, BatchStrategy::kEma, BatchStrategy::kNarx,
                               BatchStrategy::kStepwise},
          .features = {Feature::kCheckpoint, Feature::kShardRecovery, Feature::kStragglerReplace,
                       Feature::kOutputVolume, Feature::kChaos, Feature::kDeterministic}};
}

}  // namespace paceline::job
