#include "tests/soak/plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::soak {
namespace {

// Silence is noticed after 6 s: some are frozen for less, some for much more.
constexpr double kFreezeLeast = 0.5;
constexpr double kFreezeMost = 30;
constexpr double kElseMost = 12;  // Links and disks.
constexpr double kSlowLeast = 2e4;
constexpr double kSlowMost = 1e6;
constexpr double kSpread = 4;  // Seconds over which the faults of an episode begin.
constexpr uint64_t kFaultsMost = 3;

double SecondsOf(Kind kind, Draws& draws) {
  switch (kind) {
    case Kind::kKill:
      return 0;
    case Kind::kFreeze:
      return draws.BetweenByFactor(kFreezeLeast, kFreezeMost);
    default:
      return draws.BetweenByFactor(kFreezeLeast, kElseMost);
  }
}

}  // namespace

const std::vector<RoleAndKind>& AllFaults() {
  static const std::vector<RoleAndKind> all = {
      {Role::kWorker, Kind::kKill},      {Role::kWorker, Kind::kFreeze},
      {Role::kShard, Kind::kKill},       {Role::kShard, Kind::kFreeze},
      {Role::kCoordinator, Kind::kKill}, {Role::kCoordinator, Kind::kFreeze},
      {Role::kEvaluator, Kind::kKill},   {Role::kEvaluator, Kind::kFreeze},
      {Role::kLink, Kind::kCut},         {Role::kLink, Kind::kSilence},
      {Role::kLink, Kind::kSlow},        {Role::kDisk, Kind::kFill},
      {Role::kDisk, Kind::kReadOnly}};
  return all;
}

const std::vector<Scheme>& Schemes() {
  static const std::vector<Scheme> all = {
      {"BSP", {"spec.sync.scheme=BSP"}},
      {"BackupWorkers", {"spec.sync.scheme=BackupWorkers", "spec.sync.backupWorkers.count=1"}},
      {"SSP", {"spec.sync.scheme=SSP", "spec.sync.ssp.staleness=2"}},
      {"ASP", {"spec.sync.scheme=ASP"}},
      {"DBW", {"spec.sync.scheme=DBW"}},
      {"WBSP", {"spec.sync.scheme=WBSP"}},
      {"PSPlus", {"spec.sync.scheme=PSPlus", "spec.sync.psPlus.staleness=2"}}};
  return all;
}

Faults::Faults(uint64_t seed, uint64_t job) : draws_(seed, fmt::format("faults of job {}", job)) {}

RoleAndKind Faults::Deal() {
  if (deck_.empty()) deck_ = AllFaults();
  const auto drawn = deck_.begin() + static_cast<std::ptrdiff_t>(draws_.Below(deck_.size()));
  const RoleAndKind what = *drawn;
  deck_.erase(drawn);
  return what;
}

Episode Faults::Next() {
  Episode episode{.calm_seconds = draws_.Between(0.2, 1.5), .faults = {}};
  const uint64_t count = 1 + draws_.Below(kFaultsMost);
  for (uint64_t i = 0; i < count; ++i) {
    Fault fault;
    fault.what = Deal();
    fault.after_seconds = draws_.Between(0, kSpread);
    fault.seconds = SecondsOf(fault.what.kind, draws_);
    fault.where = draws_.Share();
    const double rate = draws_.BetweenByFactor(kSlowLeast, kSlowMost);
    if (fault.what.kind == Kind::kSlow) fault.bytes_per_second = rate;
    episode.faults.push_back(fault);
  }
  std::ranges::sort(episode.faults, {}, &Fault::after_seconds);
  return episode;
}

JobPlan PlanOf(uint64_t seed, uint64_t job) {
  const uint64_t combinations = 2 * Schemes().size();
  const uint64_t at = Draws(seed, "first scheme").Below(combinations) + job;
  return {.number = job,
          .scheme = Schemes()[at % Schemes().size()],
          .has_checkpoints = at % 2 == 0,  // Their number is odd: each scheme gets both.
          .ends_under_fire = Draws(seed, fmt::format("end of job {}", job)).Share() < 0.5};
}

const char* ToString(Role role) {
  switch (role) {
    case Role::kWorker:
      return "worker";
    case Role::kShard:
      return "shard";
    case Role::kCoordinator:
      return "coordinator";
    case Role::kEvaluator:
      return "evaluator";
    case Role::kLink:
      return "link";
    case Role::kDisk:
      return "disk";
  }
  return "?";
}

const char* ToString(Kind kind) {
  switch (kind) {
    case Kind::kKill:
      return "kill";
    case Kind::kFreeze:
      return "freeze";
    case Kind::kCut:
      return "cut";
    case Kind::kSilence:
      return "silence";
    case Kind::kSlow:
      return "slow";
    case Kind::kFill:
      return "fill";
    case Kind::kReadOnly:
      return "read-only";
  }
  return "?";
}

}  // namespace paceline::soak
