#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

// A new coordinator knows nothing of what the one before it came to.
std::string DescribeNewLife(int64_t to_version) {
  if (to_version > 0) return fmt::format("another coordinator goes on from version {}", to_version);
  return "another coordinator began, with no checkpoint to go on from";
}

struct Cost {
  int64_t steps = 0;
  double seconds = 0;  // Of training; 0: not known.
};

// As a coordinator has told. Of one that died only its last words are known: what was done after
// the checkpoint was complete, up to then.
Cost CostOf(const Draft& draft, const RecoveryStatus& recovery, bool is_told) {
  const CoordinatorReport& report = *draft.report;
  const JobStatus& before = draft.seen.status;
  Cost cost{.steps = std::max<int64_t>(recovery.from_version - recovery.to_version, 0)};
  if (is_told) {
    cost.steps = std::max(cost.steps, report.lost_steps - recovery.coordinator_lost_steps);
    cost.seconds = report.lost_seconds - recovery.coordinator_lost_seconds;
    return cost;
  }
  const bool is_its_checkpoint =
      before.checkpoint && before.checkpoint->version == recovery.to_version;
  if (is_its_checkpoint && before.checkpoint->completion_time && before.progress &&
      before.progress->last_update_time) {
    const Duration since = *before.progress->last_update_time - *before.checkpoint->completion_time;
    cost.seconds = std::max(ToSeconds(since), 0.0);
  }
  return cost;
}

std::string WithCost(std::string message, const Cost& cost) {
  if (cost.steps <= 0) return message;
  const std::string seconds =
      cost.seconds > 0 ? fmt::format(" ({:.1f} s of training)", cost.seconds) : "";
  return fmt::format("{}; {} {}{} {} again", message, cost.steps,
                     cost.steps == 1 ? "step" : "steps", seconds,
                     cost.steps == 1 ? "is computed" : "are computed");
}

// Whether the servers are on their way back and the report is the first to say that training goes
// on.
bool HasJustRecovered(const Draft& draft) {
  return draft.before.is_recovering && draft.report->phase == TrainingPhase::kTraining;
}

}  // namespace

// Steps only ever grow, but for a roll back: one that the coordinator counts, or a new coordinator
// that goes on from an earlier version than its predecessor had come to. How far that one was is
// not known beyond what it had told.
void RecordRollBack(Draft& draft) {
  if (draft.report == nullptr || IsFinished(draft.seen.status)) return;
  const CoordinatorReport& report = *draft.report;
  const JobStatus& before = draft.seen.status;
  const int64_t step_before = before.progress ? before.progress->step : 0;
  const int64_t step_now = report.progress ? report.progress->step : step_before;
  const auto start = static_cast<int64_t>(report.generation_start);
  const bool is_same_life = before.recovery && before.recovery->coordinator_start == start;
  const int64_t counted = is_same_life ? before.recovery->coordinator_roll_backs : 0;
  const int64_t told = report.roll_backs - counted;
  const bool is_new_life = start > 1 && !is_same_life && HasJustRecovered(draft);
  if (told <= 0 && step_now >= step_before && !is_new_life) return;

  RecoveryStatus recovery = before.recovery.value_or(RecoveryStatus());
  if (!is_same_life) {
    recovery.coordinator_lost_steps = 0;
    recovery.coordinator_lost_seconds = 0;
  }
  recovery.roll_backs += std::max<int64_t>(told, 1);
  recovery.time = draft.now;
  recovery.coordinator_start = start;
  recovery.coordinator_roll_backs = report.roll_backs;
  recovery.to_version = told > 0 ? report.rolled_back_to : report.restored_from;
  recovery.from_version = std::max({report.rolled_back_from, step_before, recovery.to_version});
  const Cost cost = CostOf(draft, recovery, told > 0);
  recovery.lost_steps += cost.steps;
  recovery.lost_seconds += cost.seconds;
  recovery.coordinator_lost_steps = report.lost_steps;
  recovery.coordinator_lost_seconds = report.lost_seconds;
  recovery.message =
      WithCost(told > 0 ? report.last_roll_back : DescribeNewLife(recovery.to_version), cost);
  draft.Report(EventType::kWarning, PlanReason::kRolledBack, "rolled back: " + recovery.message);
  draft.plan.status.recovery = std::move(recovery);
}

}  // namespace paceline::job
