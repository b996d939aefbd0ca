#include "lib/sync/schemes/presets.h"

#include <algorithm>

namespace paceline::sync {
namespace {

using Rule = QuorumChoice::Rule;

constexpr QuorumChoice kEach{Rule::kCount, 1};

StalenessWindow WindowOf(const std::optional<uint64_t>& staleness) {
  return staleness ? StalenessWindow(*staleness) : StalenessWindow::Unbounded();
}

StepScale StepOf(UpdateScale scale) {
  return scale == UpdateScale::kPerWorker ? StepScale::kShare : StepScale::kFull;
}

uint64_t ReachOfLocal(const WbspKnobs& knobs) { return knobs.late_push == LatePush::kFold ? 1 : 0; }

// What another meanwhile brings with it, of what the parts do not say.
void TakeMeanwhile(const PolicySpec& spec, Meanwhile meanwhile, Coordinates& at) {
  if (meanwhile == at.meanwhile) return;
  if (at.IsLocal()) at.reach = 0;  // WBSP's is a knob of local steps.
  at.meanwhile = meanwhile;
  if (at.IsLocal()) {
    at.local = spec.wbsp;
    if (at.reach) at.reach = ReachOfLocal(spec.wbsp);
  }
  if (meanwhile == Meanwhile::kEagerPull) {
    at.depth = spec.depth;
    // What was begun while the answer travelled is so many versions old.
    if (at.reach) at.reach = std::max<uint64_t>(*at.reach, at.depth);
  }
}

void TakeLate(Late late, Coordinates& at) {
  if (late == Late::kWeigh) {
    if (at.reach) at.modulation.rule = Modulation::kStaleness;
    at.reach.reset();
  } else if (!at.reach) {
    at.reach = at.meanwhile == Meanwhile::kEagerPull ? at.depth : 0;
  }
}

}  // namespace

Coordinates PresetOf(const PolicySpec& spec) {
  switch (spec.scheme) {
    case Scheme::kBsp:  // Valiant 1990.
      return {.is_deterministic = spec.is_deterministic};
    case Scheme::kBackupWorkers:  // Chen et al. 2016.
      return {.quorum = {Rule::kAllBut, spec.backup_workers},
              .is_deterministic = spec.is_deterministic};
    case Scheme::kDbw:  // Xu et al. 2020.
      return {.quorum = {Rule::kDbw},
              .news = spec.dbw.late_worker,
              .is_deterministic = spec.is_deterministic};
    case Scheme::kSsp:  // Ho et al. 2013.
      return {.quorum = kEach,
              .reach = std::nullopt,
              .window = WindowOf(spec.staleness),
              .step = StepOf(spec.update_scale)};
    case Scheme::kAsp:
      return {.quorum = kEach, .reach = std::nullopt, .step = StepOf(spec.update_scale)};
    case Scheme::kPsPlus:  // Jin et al. 2022.
      return {.quorum = kEach,
              .reach = std::nullopt,
              .window = WindowOf(spec.staleness),
              .meanwhile = Meanwhile::kEagerPull,
              .depth = spec.depth,
              .step = StepOf(spec.update_scale),
              .modulation = spec.modulation};
    case Scheme::kWbsp:  // Yang et al. 2024.
      return {.reach = ReachOfLocal(spec.wbsp),
              .meanwhile = Meanwhile::kLocalSteps,
              .local = spec.wbsp};
    case Scheme::kKAsync:  // Dutta et al. 2018.
      return {.quorum = {Rule::kCount}, .reach = std::nullopt, .step = StepScale::kShare};
    case Scheme::kKBatchAsync:  // Dutta et al. 2018.
      return {.quorum = {Rule::kCount},
              .counted = Counted::kPushes,
              .reach = std::nullopt,
              .meanwhile = Meanwhile::kGoOn,
              .step = StepScale::kShare};
    case Scheme::kAuto:  // As it begins (auto/auto_policy.h).
      return {.news = LateWorker::kInterrupt};
  }
  return {};
}

bool IsKToBeSaid(Scheme scheme) {
  return PresetOf({.scheme = scheme}).quorum == QuorumChoice{Rule::kCount, 0};
}

Coordinates CoordinatesOf(const PolicySpec& spec) {
  const Parts& parts = spec.parts;
  Coordinates at = PresetOf(spec);
  at.modulation.power = spec.modulation.power;
  at.modulation.scale_min = spec.modulation.scale_min;
  if (parts.quorum) at.quorum = *parts.quorum;
  if (parts.quorum && parts.quorum->rule == Rule::kDbw) at.news = spec.dbw.late_worker;
  if (parts.meanwhile) TakeMeanwhile(spec, *parts.meanwhile, at);
  if (parts.late) TakeLate(*parts.late, at);
  if (parts.reach) at.reach = *parts.reach;
  if (parts.staleness) at.window = WindowOf(parts.staleness);
  if (parts.modulation) at.modulation.rule = *parts.modulation;
  if (parts.late_worker) at.news = *parts.late_worker;
  if (parts.update_scale) at.step = StepOf(*parts.update_scale);
  at.outer = parts.outer;
  return at;
}

}  // namespace paceline::sync
