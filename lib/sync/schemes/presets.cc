#include "lib/sync/schemes/presets.h"

namespace paceline::sync {
namespace {

StalenessWindow WindowOf(const PolicySpec& spec) {
  return spec.staleness ? StalenessWindow(*spec.staleness) : StalenessWindow::Unbounded();
}

StepScale StepOf(const PolicySpec& spec) {
  return spec.update_scale == UpdateScale::kPerWorker ? StepScale::kShare : StepScale::kFull;
}

}  // namespace

Coordinates PresetOf(const PolicySpec& spec) {
  switch (spec.scheme) {
    case Scheme::kBsp:            // Valiant 1990.
    case Scheme::kBackupWorkers:  // Chen et al. 2016.
      return {.is_deterministic = spec.is_deterministic};
    case Scheme::kDbw:  // Xu et al. 2020.
      return {.news = spec.dbw.late_worker, .is_deterministic = spec.is_deterministic};
    case Scheme::kSsp:  // Ho et al. 2013.
      return {.reach = std::nullopt, .window = WindowOf(spec), .step = StepOf(spec)};
    case Scheme::kAsp:
      return {.reach = std::nullopt, .step = StepOf(spec)};
    case Scheme::kPsPlus:  // Jin et al. 2022.
      return {.reach = std::nullopt,
              .window = WindowOf(spec),
              .meanwhile = Meanwhile::kEagerPull,
              .depth = spec.depth,
              .step = StepOf(spec),
              .modulation = spec.modulation};
    case Scheme::kWbsp:  // Yang et al. 2024.
      return {.reach = spec.wbsp.late_push == LatePush::kFold ? 1 : 0,
              .meanwhile = Meanwhile::kLocalSteps,
              .local = spec.wbsp};
  }
  return {};
}

}  // namespace paceline::sync
