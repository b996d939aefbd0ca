#include "lib/job/checks/capabilities.h"

namespace paceline::job {

Capabilities Capabilities::All() {
  return {.schemes = {Scheme::kBsp, Scheme::kSsp, Scheme::kAsp, Scheme::kBackupWorkers,
                      Scheme::kDbw, Scheme::kWbsp, Scheme::kPsPlus},
          .batch_strategies = {BatchStrategy::kEqual, BatchStrategy::kEma, BatchStrategy::kNarx,
                               BatchStrategy::kStepwise},
          .features = {Feature::kCheckpoint, Feature::kShardRecovery, Feature::kStragglerReplace,
                       Feature::kOutputVolume, Feature::kChaos, Feature::kDeterministic,
                       Feature::kTokenFiles}};
}

}  // namespace paceline::job
