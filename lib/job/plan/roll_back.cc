#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/job/plan/judgements.h"

namespace paceline::job {
namespace {

// A new coordinator knows nothing of what the one before it came to.
std::string DescribeNewLife(int64_t to_version) {
  if (to_version > 0) return fmt::format("another coordinator goes on from version {}", to_version);
  return "another coordinator began, with no checkpoint to go on from";
}

std::string WithCost(std::string message, const RecoveryStatus& recovery) {
  const int64_t steps = recovery.from_version - recovery.to_version;
  if (steps <= 0) return message;
  return fmt::format("{}; {} {} again", message, steps,
                     steps == 1 ? "step is computed" : "steps are computed");
}

// Whether the servers are on their way back and the report is the first to say that training goes
// on.
bool HasJustRecovered(const Draft& draft) {
  const Condition* restarting = FindCondition(draft.seen.status, ConditionType::kRestarting);
  return restarting != nullptr && restarting->status == ConditionStatus::kTrue &&
         restarting->reason == ToWord(PlanReason::kRecovering) &&
         draft.report->phase == TrainingPhase::kTraining;
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
  recovery.roll_backs += std::max<int64_t>(told, 1);
  recovery.time = draft.now;
  recovery.coordinator_start = start;
  recovery.coordinator_roll_backs = report.roll_backs;
  recovery.to_version = told > 0 ? report.rolled_back_to : report.restored_from;
  recovery.from_version = std::max({report.rolled_back_from, step_before, recovery.to_version});
  recovery.message =
      WithCost(told > 0 ? report.last_roll_back : DescribeNewLife(recovery.to_version), recovery);
  draft.Report(EventType::kWarning, PlanReason::kRolledBack, "rolled back: " + recovery.message);
  draft.plan.status.recovery = std::move(recovery);
}

}  // namespace paceline::job
