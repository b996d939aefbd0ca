#include "lib/job/policy_spec.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/job/worker_groups.h"
#include "lib/sync/schemes/cautions.h"
#include "lib/sync/schemes/presets.h"

namespace paceline::job {
namespace {

// Of enums that say the same in the same order. The last value of each is held to its number;
// of schemes, which come and go, the words are.
template <class To, class From>
constexpr To Same(From value) {
  return static_cast<To>(static_cast<int>(value));
}
template <auto kTo, auto kFrom>
constexpr bool kIsSame = static_cast<int>(kTo) == static_cast<int>(kFrom);
static_assert(kIsSame<sync::UpdateScale::kFull, UpdateScale::kFull>);
static_assert(kIsSame<sync::Meanwhile::kEagerPull, Meanwhile::kEagerPull>);
static_assert(kIsSame<sync::Late::kWeigh, Late::kWeigh>);
static_assert(kIsSame<sync::Modulation::kNone, Modulation::kNone>);
static_assert(kIsSame<sync::Sizing::kStepwise, BatchStrategy::kStepwise>);
static_assert(kIsSame<sync::DbwMethod::kStar, DbwMethod::kStar>);
static_assert(kIsSame<sync::LateWorker::kInterrupt, LateWorker::kInterrupt>);
static_assert(kIsSame<sync::NoGain::kHold, DbwFallback::kHold>);
static_assert(kIsSame<sync::LossRule::kOff, DbwLossRule::kNone>);
static_assert(kIsSame<sync::RateRule::kTable, DbwRateRule::kTable>);
static_assert(kIsSame<sync::RoundTrigger::kDesignated, RoundTrigger::kDesignated>);
static_assert(kIsSame<sync::LatePush::kDrop, LatePush::kDrop>);
static_assert(kIsSame<sync::OnPull::kOverwrite, OnPull::kOverwrite>);
static_assert(kIsSame<sync::MomentumOnPull::kReset, MomentumOnPull::kReset>);

static_assert(std::ranges::equal(Words(Scheme{}), sync::WordsOf(sync::Scheme{}), {}, {},
                                 [](const auto& word) { return word.text; }),
              "lib/sync/schemes/scheme.h has other schemes, or another order");

// Of knobs only those that the strategy looks at.
sync::SizingSpec SizingSpecFrom(const BatchSizing& sizing) {
  sync::SizingSpec spec;
  spec.strategy = Same<sync::Sizing>(sizing.strategy);
  if (spec.strategy == sync::Sizing::kEqual) return spec;
  spec.batch_min = static_cast<uint32_t>(sizing.min_batch_size);
  if (sizing.max_batch_size) spec.batch_max = static_cast<uint32_t>(*sizing.max_batch_size);
  if (spec.strategy == sync::Sizing::kStepwise) {
    spec.period_steps = static_cast<uint32_t>(sizing.period_steps);
    spec.dead_band = sizing.dead_band_percent / 100;
    spec.rapid = sizing.rapid_percent / 100;
  } else {
    spec.newest_weight = sizing.ema_weight;
  }
  return spec;
}

sync::DbwOptions DbwOptionsFrom(const TrainingJob& job) {
  const Dbw& from = job.spec.sync.dbw;
  const Optimizer& optimizer = job.spec.training.optimizer;
  sync::DbwOptions options;
  options.window = static_cast<uint32_t>(from.window);
  options.beta = from.beta;
  options.warmup_steps = static_cast<uint32_t>(from.warmup_steps);
  options.k_min = static_cast<uint32_t>(from.min_workers);
  options.refit_steps = static_cast<uint32_t>(from.refit_steps);
  options.aging = from.aging;
  options.rates = from.learning_rate_factors;
  options.silence_factor = from.silence_factor;
  options.silence_seconds = from.silence_seconds;
  options.ada_sync_k = static_cast<uint32_t>(from.ada_sync_workers);
  options.ada_sync_seconds = from.ada_sync_seconds;
  if (optimizer.type == OptimizerType::kSgd) options.momentum = optimizer.sgd.momentum;
  options.method = Same<sync::DbwMethod>(from.method);
  options.late_worker = Same<sync::LateWorker>(from.late_worker);
  options.no_gain = Same<sync::NoGain>(from.fallback);
  options.loss_rule = Same<sync::LossRule>(from.loss_rule);
  options.rate_rule = Same<sync::RateRule>(from.learning_rate_rule);
  return options;
}

sync::WbspKnobs KnobsFrom(const Wbsp& from) {
  sync::WbspKnobs knobs;
  knobs.trigger = Same<sync::RoundTrigger>(from.trigger);
  knobs.late_push = Same<sync::LatePush>(from.late_push);
  knobs.on_pull = Same<sync::OnPull>(from.on_pull);
  knobs.momentum_on_pull = Same<sync::MomentumOnPull>(from.momentum);
  knobs.local_steps_max = static_cast<uint32_t>(from.max_local_steps);
  knobs.round_timeout_factor = from.round_timeout_factor;
  knobs.elect_rounds = static_cast<uint32_t>(from.elect_rounds);
  knobs.is_overlapped = from.overlap;
  knobs.is_normalised = from.normalise;
  return knobs;
}

sync::QuorumChoice QuorumFrom(const QuorumField& from) {
  using Rule = sync::QuorumChoice::Rule;
  if (from.word == QuorumWord::kAll) return {Rule::kAllBut, 0};
  if (from.word == QuorumWord::kDbw) return {Rule::kDbw, 0};
  return {Rule::kCount, static_cast<uint32_t>(from.workers)};
}

sync::Parts PartsFrom(const Sync& from) {
  sync::Parts parts;
  if (from.quorum) parts.quorum = QuorumFrom(*from.quorum);
  if (from.reach) parts.reach = static_cast<uint64_t>(*from.reach);
  if (from.late) parts.late = Same<sync::Late>(*from.late);
  if (from.staleness) parts.staleness = static_cast<uint64_t>(*from.staleness);
  if (from.meanwhile) parts.meanwhile = Same<sync::Meanwhile>(*from.meanwhile);
  if (from.modulation) parts.modulation = Same<sync::Modulation>(from.modulation->rule);
  if (from.late_worker) parts.late_worker = Same<sync::LateWorker>(*from.late_worker);
  if (from.outer)
    parts.outer = OuterStep{from.outer->learning_rate, from.outer->momentum, from.outer->nesterov};
  if (from.update_scale) parts.update_scale = Same<sync::UpdateScale>(*from.update_scale);
  return parts;
}

// Knobs of the scheme's own block. A scheme without one has nothing to say here.
void TakeOwnBlock(const Sync& from, sync::PolicySpec& spec) {
  switch (from.scheme) {
    case Scheme::kBackupWorkers:
      spec.backup_workers = static_cast<uint32_t>(from.backup_workers.count);
      return;
    case Scheme::kSsp:
      spec.staleness = static_cast<uint64_t>(from.ssp.staleness);
      spec.update_scale = Same<sync::UpdateScale>(from.ssp.update_scale);
      return;
    case Scheme::kAsp:
      spec.update_scale = Same<sync::UpdateScale>(from.asp.update_scale);
      return;
    case Scheme::kPsPlus:
      spec.staleness = from.ps_plus.staleness;  // Absent: no bound.
      spec.depth = static_cast<uint32_t>(from.ps_plus.depth);
      spec.update_scale = Same<sync::UpdateScale>(from.ps_plus.update_scale);
      spec.modulation = {.rule = Same<sync::Modulation>(from.ps_plus.modulation),
                         .power = from.ps_plus.power,
                         .scale_min = from.ps_plus.min_scale};
      return;
    default:
      return;
  }
}

// Without a barrier, momentum adds up what was computed on models that are gone.
bool HasMomentum(const Optimizer& optimizer) {
  return optimizer.type != OptimizerType::kSgd || optimizer.sgd.momentum > 0;
}

}  // namespace

sync::PolicySpec PolicySpecFrom(const TrainingJob& job) {
  const Sync& from = job.spec.sync;
  sync::PolicySpec spec;
  spec.scheme = Same<sync::Scheme>(from.scheme);
  spec.global_batch_size = static_cast<uint32_t>(job.spec.training.global_batch_size);
  spec.workers_expected = static_cast<uint32_t>(ReplicasOf(job.spec.workers));
  spec.is_deterministic = job.spec.training.deterministic;
  spec.sizing = SizingSpecFrom(from.batch_sizing);
  spec.parts = PartsFrom(from);
  TakeOwnBlock(from, spec);
  if (from.scheme == Scheme::kAuto) spec.is_barrier_kept = HasMomentum(job.spec.training.optimizer);
  if (from.modulation) {
    spec.modulation.power = from.modulation->power;
    spec.modulation.scale_min = from.modulation->min_scale;
  }
  const sync::Coordinates at = sync::CoordinatesOf(spec);
  if (at.quorum.rule == sync::QuorumChoice::Rule::kDbw) spec.dbw = DbwOptionsFrom(job);
  if (at.IsLocal()) spec.wbsp = KnobsFrom(from.wbsp);
  return spec;
}

std::vector<std::string> CautionsOf(const TrainingJob& job) {
  std::vector<std::string> texts;
  for (const sync::Caution& caution : sync::CautionsOf(PolicySpecFrom(job)))
    texts.push_back(fmt::format("spec.sync.{}: {}", caution.part, caution.text));
  return texts;
}

}  // namespace paceline::job
