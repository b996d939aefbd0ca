// Defines Capabilities: what the running program can do, of all that a manifest can ask for.
#pragma once

#include <set>

#include "lib/job/manifest/enums.h"

namespace paceline::job {

enum class Feature {
  kCheckpoint,        // spec.checkpoint.
  kShardRecovery,     // A lost parameter server is started again instead of failing the job.
  kStragglerReplace,  // workers.stragglerPolicy.action: Replace.
  kOutputVolume,      // spec.output.volume.
  kChaos,             // spec.chaos.
  kDeterministic,     // training.deterministic.
};

std::set<Scheme> EverySchemeThereIs();

struct Capabilities {
  std::set<Scheme> schemes = EverySchemeThereIs();
  std::set<BatchStrategy> batch_strategies = {BatchStrategy::kEqual, BatchStrategy::kEma,
                                              BatchStrategy::kNarx, BatchStrategy::kStepwise};
  std::set<Feature> features = {Feature::kCheckpoint,       Feature::kShardRecovery,
                                Feature::kStragglerReplace, Feature::kDeterministic,
                                Feature::kOutputVolume,     Feature::kChaos};

  bool Has(Feature feature) const { return features.contains(feature); }
  // All that the manifest can say: for checks that no program stands behind.
  static Capabilities All();
};

}  // namespace paceline::job
