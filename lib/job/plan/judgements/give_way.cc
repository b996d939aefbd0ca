#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/hash.h"
#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

constexpr int64_t kPatienceFactor = 5;  // Times scheduleTimeoutSeconds: machines may be on order.
// While no other job waits for room; doubles each time that the job has given way.
constexpr int64_t kLonelyFactor = 12;
constexpr Duration kLonelyMax = std::chrono::hours(24);
constexpr int64_t kDoublingsMax = 4;
constexpr Duration kPauseMax = std::chrono::hours(1);
// However often somebody promises room: where machines are out of stock, that goes on for hours.
constexpr Duration kRoomComesAtLast = 3 * kRoomComesWithin;
// Between two looks at whether another one waits by now, at most.
constexpr Duration kLookPeriod = std::chrono::seconds(30);

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

struct Wait {
  const SeenProcess* process;
  Time since;  // The job has some machines, and this one none.
};

using CountByGroup = std::map<std::string_view, int64_t>;

// Whether training can open with so many workers.
bool IsEnough(const Workers& workers, const CountByGroup& up) {
  int64_t all = 0;
  for (const auto& [group, count] : up) all += count;
  return all >= NeededOf(workers) &&
         std::ranges::all_of(GroupsOf(workers), [&](const GroupView& group) {
           const auto found = up.find(group.name);
           return (found == up.end() ? 0 : found->second) >= group.needed;
         });
}

// What keeps training from opening although some of the job runs: the first process that has found
// no machine, or is not let to one. Who admits pods one by one can let two jobs in by halves.
// Nothing if there is nothing to give way for.
std::optional<Wait> FindWait(const Draft& draft) {
  CountByGroup workers_up;
  bool is_server_missing = false;
  std::optional<Time> first_up;
  const SeenProcess* waiting = nullptr;
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    const bool is_up = IsUp(process);
    if (is_up) first_up = std::min(first_up.value_or(process->started_at), process->started_at);
    if (wanted.role == Role::kWorker && is_up) ++workers_up[wanted.group];
    if (wanted.role == Role::kParameterServer && !is_up) is_server_missing = true;
    // Training opens without an evaluator.
    if (process == nullptr || process->is_stopping || wanted.role == Role::kEvaluator) continue;
    if (!process->is_unschedulable && !process->is_gated) continue;
    if (waiting == nullptr || process->started_at < waiting->started_at) waiting = process;
  }
  const bool is_enough = !is_server_missing && IsEnough(draft.job.spec.workers, workers_up);
  if (!first_up || is_enough || waiting == nullptr) return std::nullopt;
  return Wait{.process = waiting, .since = std::max(waiting->started_at, *first_up)};
}

void MakeRoom(Draft& draft) {
  draft.verdict = Verdict::kGivesWay;
  for (const SeenProcess& process : draft.seen.processes) {
    if (!process.is_stopping) draft.End(process, PlanReason::kGaveWay);
  }
  draft.RequeueAt(*draft.plan.status.gives_way_until);
}

}  // namespace

Duration PatienceForRoom(const Draft& draft) {
  const Duration patience = Patience(draft.job);
  if (draft.seen.others_wait || patience >= kLonelyMax) return patience;
  const int64_t doublings = std::min(draft.seen.status.gave_way, kDoublingsMax);
  return std::min<Duration>(patience * kLonelyFactor * (int64_t{1} << doublings), kLonelyMax);
}

// Of two jobs that each hold half of what one needs, neither would ever start. A job that has not
// begun to train gives its machines back after a while and comes back later, so that one of them
// gets all. One that waits alone keeps its place for longer: a machine may be on its way, which
// would come for nobody.
void JudgeGivingWay(Draft& draft) {
  JobStatus& status = draft.plan.status;
  if (status.gives_way_until) {
    if (draft.now < *status.gives_way_until) return MakeRoom(draft);
    status.gives_way_until.reset();
  }
  const bool is_training = draft.IsFinishing() || (draft.report != nullptr &&
                                                   draft.report->phase == TrainingPhase::kTraining);
  if (is_training) status.gave_way = 0;
  if (is_training || draft.IsGang()) return;
  const std::optional<Wait> wait = FindWait(draft);
  if (!wait) return;
  Time until = wait->since + PatienceForRoom(draft);
  if (const std::optional<Time> promised = draft.seen.room_promised_at)
    until = std::max(until, std::min(*promised + kRoomComesWithin,
                                     wait->since + Patience(draft.job) + kRoomComesAtLast));
  if (draft.now < until) {
    // Another one may come to wait at any time, and nobody tells.
    const Duration patience = Patience(draft.job);
    const Time ripe =
        std::max(wait->since + patience, draft.now + std::min<Duration>(patience, kLookPeriod));
    return draft.RequeueAt(std::min(until, ripe));
  }
  const Duration pause = Pause(draft.job, status.gave_way);
  ++status.gave_way;
  status.gives_way_until = draft.now + pause;
  draft.Report(EventType::kWarning, PlanReason::kGaveWay,
               fmt::format("{}; all of the job makes room for others and tries again in {} s",
                           DescribeAbsence(wait->process->name, wait->process),
                           std::chrono::duration_cast<std::chrono::seconds>(pause).count()));
  MakeRoom(draft);
}

}  // namespace paceline::job
