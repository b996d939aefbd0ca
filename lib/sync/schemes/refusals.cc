#include "lib/sync/schemes/refusals.h"

#include <fmt/format.h>

#include "lib/sync/schemes/presets.h"

namespace paceline::sync {
namespace {

using Rule = QuorumChoice::Rule;

// A spec and the point that it is.
struct Asked {
  const PolicySpec& spec;
  const Parts& parts;
  Coordinates at;
};

// What it chooses by itself, and what it cannot choose beside.
std::optional<Refusal> OfAuto(const Asked& asked) {
  const auto& [spec, parts, at] = asked;
  if (spec.scheme != Scheme::kAuto) return std::nullopt;
  const auto chosen = [](const char* part) {
    return Refusal{part, "must be absent with scheme Auto, which chooses what is best"};
  };
  if (parts.quorum) return chosen("quorum");
  if (parts.reach) return chosen("reach");
  if (parts.late) return chosen("late");
  if (parts.staleness) return chosen("staleness");
  if (parts.meanwhile) return chosen("meanwhile");
  if (parts.modulation) return chosen("modulation");
  if (parts.outer) return chosen("outer");
  if (parts.update_scale) return chosen("updateScale");
  if (spec.sizing.strategy != Sizing::kEqual) {
    return Refusal{"batchSizing.strategy",
                   "must be Equal with scheme Auto: with fewer pushes than workers small batches "
                   "come first, and the batch shrinks"};
  }
  if (spec.is_deterministic) {
    return Refusal{"scheme",
                   "must not be Auto in deterministic training: it goes by how long steps take"};
  }
  return std::nullopt;
}

std::optional<Refusal> OfQuorum(const Asked& asked) {
  const Scheme scheme = asked.spec.scheme;
  const std::optional<QuorumChoice>& quorum = asked.parts.quorum;
  if (IsKToBeSaid(scheme) && (!quorum || quorum->rule != Rule::kCount)) {
    return Refusal{"quorum", fmt::format("must be a number with scheme {}, which has no other K",
                                         ToString(scheme))};
  }
  if (quorum && scheme == Scheme::kBackupWorkers) {
    return Refusal{"quorum",
                   "must be absent with scheme BackupWorkers: all but backupWorkers.count are "
                   "waited for"};
  }
  if (quorum && scheme == Scheme::kDbw && quorum->rule != Rule::kDbw) {
    return Refusal{"quorum", "must be DBW or absent with scheme DBW; scheme BSP takes any"};
  }
  return std::nullopt;
}

std::optional<Refusal> OfLateness(const Asked& asked) {
  const auto& [spec, parts, at] = asked;
  if (parts.reach && parts.late == Late::kWeigh)
    return Refusal{"reach", "must be absent with late Weigh: every push counts, however old"};
  if (!parts.late && parts.reach && !PresetOf(spec).reach) {
    return Refusal{"reach", fmt::format("needs late Drop with scheme {}, in which every push "
                                        "counts, however old",
                                        ToString(spec.scheme))};
  }
  if (at.reach && parts.staleness) {
    return Refusal{"staleness",
                   "must be absent where late pushes are dropped: it bounds the lead over the "
                   "slowest, whose late pushes have to count"};
  }
  if (at.reach && !at.window.is_unbounded()) {
    return Refusal{"late",
                   "must be Weigh or absent where staleness is bounded: that bounds the lead over "
                   "the slowest, whose late pushes have to count"};
  }
  if (at.reach && at.meanwhile == Meanwhile::kEagerPull && *at.reach < at.depth) {
    return Refusal{"reach", fmt::format("must be at least {} with meanwhile EagerPull, whose "
                                        "pushes are that many versions old",
                                        at.depth)};
  }
  if (parts.modulation && *parts.modulation != Modulation::kNone && at.reach) {
    return Refusal{"modulation",
                   "needs late Weigh: what is within reach counts in full, what is older is "
                   "dropped"};
  }
  return std::nullopt;
}

std::optional<Refusal> OfMeanwhile(const Asked& asked) {
  const auto& [spec, parts, at] = asked;
  if (at.IsLocal() && !at.reach) {
    return Refusal{parts.late ? "late" : "meanwhile",
                   "must not be LocalSteps where every push counts, however old: they are made "
                   "until a round ends, and none does; set late Drop"};
  }
  if (parts.outer && !at.IsLocal()) {
    return Refusal{"outer",
                   "must be absent without meanwhile LocalSteps, whose mean it moves the "
                   "model by"};
  }
  const bool is_part = parts.late_worker.has_value();
  if (at.news == LateWorker::kInterrupt && !at.IsStrict()) {
    return Refusal{is_part ? "lateWorker" : "dbw.lateWorker",
                   "must not be Interrupt where a late push counts or local steps would be lost: "
                   "only with meanwhile Wait, late Drop and reach 0"};
  }
  if (at.IsLocal() && at.local.trigger == RoundTrigger::kDesignated &&
      at.quorum != QuorumChoice{}) {
    return Refusal{"quorum",
                   "must be All with wbsp.trigger Designated: two rules would end a round"};
  }
  if (spec.is_deterministic &&
      !(at.IsStrict() && at.quorum.rule == Rule::kAllBut && at.step == StepScale::kMean)) {
    return Refusal{"meanwhile",
                   "must be Wait in deterministic training, with quorum All, late Drop and reach "
                   "0: what counts must not depend on who is first"};
  }
  return std::nullopt;
}

std::string ScalePart(const Asked& asked) {
  if (asked.parts.update_scale) return "updateScale";
  if (asked.spec.scheme == Scheme::kSsp) return "ssp.updateScale";
  return asked.spec.scheme == Scheme::kAsp ? "asp.updateScale" : "psPlus.updateScale";
}

std::optional<Refusal> OfStep(const Asked& asked) {
  const auto& [spec, parts, at] = asked;
  const bool is_delta = at.Kind() == PushKind::kDelta;
  if (is_delta && at.step == StepScale::kFull && at.HasRounds()) {
    return Refusal{ScalePart(asked),
                   "must be PerWorker where several pushes make a version: local steps of several "
                   "would be added up, not averaged"};
  }
  if (at.quorum.rule != Rule::kDbw) return std::nullopt;
  if (at.counted == Counted::kPushes) {
    return Refusal{"quorum",
                   "must not be DBW with scheme KBatchAsync, which counts pushes: DBW "
                   "chooses a number of workers"};
  }
  if (is_delta && HasGain(spec.dbw.method)) {
    return Refusal{"dbw.method",
                   "must be Blind or AdaSync where workers push local steps: the "
                   "gain is worked out for gradients"};
  }
  if (is_delta && spec.dbw.rate_rule != RateRule::kConstant) {
    return Refusal{"dbw.learningRateRule",
                   "must be Constant where workers push local steps, "
                   "which were made with the learning rate already"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> RefusalOf(const PolicySpec& spec) {
  const Asked asked{spec, spec.parts, CoordinatesOf(spec)};
  for (const auto rule : {OfAuto, OfQuorum, OfLateness, OfMeanwhile, OfStep}) {
    if (std::optional<Refusal> refusal = rule(asked)) return refusal;
  }
  return std::nullopt;
}

}  // namespace paceline::sync
