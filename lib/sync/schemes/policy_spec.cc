#include "lib/sync/schemes/policy_spec.h"

#include <cmath>

#include "lib/base/lower_case.h"
#include "lib/sync/schemes/batching/make_sizer.h"
#include "lib/sync/schemes/dbw/options_text.h"
#include "lib/sync/schemes/refusals.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

std::optional<Scheme> FindScheme(std::string_view name) {
  for (const Word<Scheme>& word : WordsOf(Scheme{})) {
    if (EqualIgnoringCase(word.text, name)) return word.value;
  }
  return std::nullopt;
}

void AddKnobs(const WbspKnobs& knobs, FieldWriter& line) {
  const WbspKnobs defaults;
  line.AddUnless(defaults.trigger, "trigger", knobs.trigger)
      .AddUnless(defaults.late_push, "late-push", knobs.late_push)
      .AddUnless(defaults.on_pull, "on-pull", knobs.on_pull)
      .AddUnless(defaults.momentum_on_pull, "momentum", knobs.momentum_on_pull)
      .AddUnless(defaults.local_steps_max, "local-steps", knobs.local_steps_max)
      .AddUnless(defaults.round_timeout_factor, "round-timeout", knobs.round_timeout_factor)
      .AddUnless(defaults.elect_rounds, "elect", knobs.elect_rounds);
  if (!knobs.is_overlapped) line.AddWord("basic");
  if (knobs.is_normalised) line.AddWord("normalised");
}

WbspKnobs TakeKnobs(Fields& fields) {
  WbspKnobs knobs;
  fields.Take("trigger", knobs.trigger);
  fields.Take("late-push", knobs.late_push);
  fields.Take("on-pull", knobs.on_pull);
  fields.Take("momentum", knobs.momentum_on_pull);
  fields.Take("local-steps", knobs.local_steps_max);
  fields.Take("round-timeout", knobs.round_timeout_factor);
  fields.Take("elect", knobs.elect_rounds);
  knobs.is_overlapped = !fields.Flag("basic");
  knobs.is_normalised = fields.Flag("normalised");
  return knobs;
}

constexpr std::string_view kUnbounded = "unbounded";

void AddSizing(const SizingSpec& sizing, FieldWriter& line) {
  const SizingSpec defaults;
  line.AddUnless(defaults.strategy, "sizing", sizing.strategy)
      .AddUnless(defaults.batch_min, "batch-min", sizing.batch_min)
      .AddUnless(defaults.batch_max, "batch-max", sizing.batch_max)
      .AddUnless(defaults.newest_weight, "newest-weight", sizing.newest_weight)
      .AddUnless(defaults.period_steps, "sizing-period", sizing.period_steps)
      .AddUnless(defaults.dead_band, "dead-band", sizing.dead_band)
      .AddUnless(defaults.rapid, "rapid", sizing.rapid);
}

void TakeSizing(Fields& fields, SizingSpec& sizing) {
  fields.Take("sizing", sizing.strategy);
  fields.Take("batch-min", sizing.batch_min);
  fields.Take("batch-max", sizing.batch_max);
  fields.Take("newest-weight", sizing.newest_weight);
  fields.Take("sizing-period", sizing.period_steps);
  fields.Take("dead-band", sizing.dead_band);
  fields.Take("rapid", sizing.rapid);
}

}  // namespace

std::string FormatPolicySpec(const PolicySpec& spec) {
  const PolicySpec defaults;
  FieldWriter line{std::string(ToString(spec.scheme))};
  line.Add("batch", spec.global_batch_size)
      .Add("workers", spec.workers_expected)
      .AddUnless(defaults.backup_workers, "backup", spec.backup_workers);
  if (!spec.staleness) {
    line.Add("staleness", kUnbounded);
  } else {
    line.AddUnless(*defaults.staleness, "staleness", *spec.staleness);
  }
  AddTo(line, spec.parts);
  AddSizing(spec.sizing, line);
  line.AddUnless(defaults.update_scale, "update-scale", spec.update_scale)
      .AddUnless(defaults.depth, "depth", spec.depth)
      .AddUnless(defaults.modulation.rule, "modulation", spec.modulation.rule)
      .AddUnless(defaults.modulation.power, "power", spec.modulation.power)
      .AddUnless(defaults.modulation.scale_min, "scale-min", spec.modulation.scale_min)
      .AddUnless(defaults.first_version, "first-version", spec.first_version);
  AddTo(line, spec.dbw);
  if (spec.is_deterministic) line.AddWord("deterministic");
  if (spec.is_barrier_kept) line.AddWord("barrier-kept");
  AddKnobs(spec.wbsp, line);
  return line.Take();
}

StatusOr<PolicySpec> ParsePolicySpec(std::string_view text) {
  Fields fields(text);
  PolicySpec spec;
  const auto name = fields.Next<std::string>("scheme");
  if (const std::optional<Scheme> scheme = FindScheme(name)) {
    spec.scheme = *scheme;
  } else {
    std::string known;
    for (const Word<Scheme>& word : WordsOf(Scheme{}))
      known += (known.empty() ? "" : ", ") + std::string(word.text);
    fields.Fail(fmt::format("scheme is unknown: got {}, want one of {}", name, known));
  }
  fields.Take("batch", spec.global_batch_size);
  fields.Take("workers", spec.workers_expected);
  fields.Take("backup", spec.backup_workers);
  if (fields.Flag("staleness=unbounded")) {
    spec.staleness.reset();
  } else {
    fields.Take("staleness", spec.staleness);
  }
  TakeFrom(fields, spec.parts);
  TakeSizing(fields, spec.sizing);
  fields.Take("update-scale", spec.update_scale);
  fields.Take("depth", spec.depth);
  fields.Take("modulation", spec.modulation.rule);
  fields.Take("power", spec.modulation.power);
  fields.Take("scale-min", spec.modulation.scale_min);
  fields.Take("first-version", spec.first_version);
  TakeFrom(fields, spec.dbw);
  spec.is_deterministic = fields.Flag("deterministic");
  spec.is_barrier_kept = fields.Flag("barrier-kept");
  spec.wbsp = TakeKnobs(fields);
  PACELINE_RETURN_IF_ERROR(fields.Finish());
  PACELINE_RETURN_IF_ERROR(Validate(spec));
  return spec;
}

Status Validate(const PolicySpec& spec) {
  if (spec.global_batch_size == 0) {
    return InvalidArgument("global batch size is 0, want at least 1 sample");
  }
  if (spec.workers_expected == 0) {
    return InvalidArgument("number of workers expected is 0, want at least 1");
  }
  const std::optional<QuorumChoice>& quorum = spec.parts.quorum;
  if (quorum && quorum->rule == QuorumChoice::Rule::kCount && quorum->count == 0)
    return InvalidArgument("quorum is 0, want at least 1 push");
  if (const std::optional<OuterStep>& outer = spec.parts.outer) {
    if (!(outer->learning_rate > 0) || !std::isfinite(outer->learning_rate))
      return InvalidArgument("outer-lr is {}, want a number above 0", outer->learning_rate);
    if (!(outer->momentum >= 0 && outer->momentum < 1))
      return InvalidArgument("outer-momentum is {}, want at least 0 and less than 1",
                             outer->momentum);
    if (outer->is_nesterov && outer->momentum == 0)
      return InvalidArgument("outer-nesterov needs outer-momentum, which is 0");
  }
  PACELINE_RETURN_IF_ERROR(Validate(spec.sizing));
  if (spec.wbsp.local_steps_max == 0) return InvalidArgument("local-steps is 0, want at least 1");
  if (spec.wbsp.elect_rounds == 0) return InvalidArgument("elect is 0, want at least 1 round");
  if (!(spec.wbsp.round_timeout_factor > 1)) {
    return InvalidArgument("round-timeout is {}, want more than 1", spec.wbsp.round_timeout_factor);
  }
  if (spec.depth == 0)
    return InvalidArgument(
        "depth is 0, want at least 1: a step begins before the last push is answered");
  const ModulationOptions& modulation = spec.modulation;
  if (!(modulation.power > 0) || !std::isfinite(modulation.power)) {
    return InvalidArgument("power is {}, want a number above 0", modulation.power);
  }
  if (!(modulation.scale_min > 0 && modulation.scale_min <= 1)) {
    return InvalidArgument("scale-min is {}, want a number above 0 and at most 1",
                           modulation.scale_min);
  }
  PACELINE_RETURN_IF_ERROR(Validate(spec.dbw));
  if (const std::optional<Refusal> refusal = RefusalOf(spec))
    return InvalidArgument("{} {}", refusal->part, refusal->reason);
  return OkStatus();
}

}  // namespace paceline::sync
