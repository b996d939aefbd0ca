#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "lib/base/hash.h"
#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements.h"

namespace paceline::job {
namespace {

constexpr int64_t kPatienceFactor = 5;  // Times scheduleTimeoutSeconds: machines may be on order.
constexpr int64_t kDoublingsMax = 4;
constexpr Duration kPauseMax = std::chrono::hours(1);

Duration Patience(const TrainingJob& job) {
  return std::chrono::seconds(job.spec.run_policy.scheduling_policy.schedule_timeout_seconds) *
         kPatienceFactor;
}

// Two jobs that wait for each other's machines must not come back at the same time.
Duration Pause(const TrainingJob& job, int64_t gave_way) {
  const uint64_t hash = HashText(job.metadata.name + "/" + job.metadata.uid.value_or(""));
  const Duration first = std::min<Duration>(Patience(job) / kPatienceFactor, kPauseMax);
  const Duration base =
      std::min<Duration>(first * (int64_t{1} << std::min(gave_way, kDoublingsMax)), kPauseMax);
  return base + base / 100 * static_cast<int64_t>(hash % 100);
}

// Whether somebody else places all pods together or holds them back.
bool IsAdmittedByOthers(const Draft& draft) {
  const SchedulingPolicy& policy = draft.job.spec.run_policy.scheduling_policy;
  return policy.queue || policy.min_available ||
         std::any_of(draft.seen.processes.begin(), draft.seen.processes.end(),
                     [](const SeenProcess& process) { return process.is_gated; });
}

// What keeps training from opening although some of the job holds machines: the process that has
// found none for too long; null if there is nothing to give way for.
const SeenProcess* FindStuck(const Draft& draft) {
  int64_t workers_up = 0;
  bool is_server_missing = false, is_any_up = false;
  const SeenProcess* stuck = nullptr;
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    const bool is_up = IsUp(process);
    is_any_up = is_any_up || is_up;
    if (wanted.role == Role::kWorker && is_up) ++workers_up;
    if (wanted.role == Role::kParameterServer && !is_up) is_server_missing = true;
    if (process == nullptr || !process->is_unschedulable || process->is_stopping) continue;
    if (draft.now >= process->started_at + Patience(draft.job)) stuck = process;
  }
  const bool is_enough = !is_server_missing && workers_up >= draft.job.spec.workers.min_replicas;
  return is_any_up && !is_enough ? stuck : nullptr;
}

void MakeRoom(Draft& draft) {
  draft.verdict = Verdict::kGivesWay;
  for (const SeenProcess& process : draft.seen.processes) {
    if (!process.is_stopping) draft.End(process, PlanReason::kGaveWay);
  }
  draft.LookAgain(*draft.plan.status.gives_way_until);
}

}  // namespace

// Of two jobs that each hold half of what one needs, neither would ever start. A job that has not
// begun to train gives its machines back after a while and comes back later, so that one of them
// gets all.
void JudgeGivingWay(Draft& draft) {
  JobStatus& status = draft.plan.status;
  if (status.gives_way_until) {
    if (draft.now < *status.gives_way_until) return MakeRoom(draft);
    status.gives_way_until.reset();
  }
  const bool is_training =
      draft.report != nullptr && draft.report->phase == TrainingPhase::kTraining;
  if (is_training) status.gave_way = 0;
  if (is_training || IsAdmittedByOthers(draft)) return;
  const SeenProcess* stuck = FindStuck(draft);
  if (stuck == nullptr) return;
  const Duration pause = Pause(draft.job, status.gave_way);
  ++status.gave_way;
  status.gives_way_until = draft.now + pause;
  draft.Report(EventType::kWarning, PlanReason::kGaveWay,
               fmt::format("{}; all of the job makes room for others and tries again in {} s",
                           DescribeAbsence(stuck->name, stuck),
                           std::chrono::duration_cast<std::chrono::seconds>(pause).count()));
  MakeRoom(draft);
}

}  // namespace paceline::job
