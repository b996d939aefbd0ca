#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"

namespace paceline::job {
namespace {

constexpr int64_t kWaitDoublingsMax = 6;
constexpr int64_t kBeforeTraining = 6;  // Times scheduleTimeoutSeconds.
// Of a process that nobody complains about: large images take their time.
constexpr Duration kQuietPatience = std::chrono::minutes(15);

// A scheduler that admits pods together keeps their place in its queue: a new pod would lose it.
bool IsForTheQueue(const Draft& draft, const SeenProcess& process) {
  return process.is_gated || (process.is_unschedulable && draft.IsGang());
}

// How long to wait for a process before it is made anew, if it is late after `timeout`.
Duration Patience(const SeenProcess& process, Duration timeout) {
  const bool may_double = timeout < std::chrono::hours(24);  // Beyond that it would overflow.
  const int64_t doublings =
      may_double ? std::clamp<int64_t>(process.attempt, 0, kWaitDoublingsMax - 1) + 1 : 1;
  const Duration patience = timeout * (int64_t{1} << doublings);
  const bool is_quiet = !process.is_unschedulable && process.waiting_reason.empty();
  return is_quiet ? std::max(patience, kQuietPatience) : patience;
}

bool HoldsRoom(const Draft& draft) {
  return std::ranges::any_of(
      draft.wanted, [&](const WantedProcess& wanted) { return IsUp(draft.Find(wanted.name)); });
}

// A process that found no room but where it had better not be is made anew without that demand.
bool ReturnsToAvoidedNode(Draft& draft, const SeenProcess& process) {
  if (!process.is_unschedulable) return false;
  const std::string node = draft.AllowAvoidedNode(process);
  if (node.empty()) return false;
  draft.End(process, PlanReason::kPendingTooLong);
  draft.Report(
      EventType::kWarning, PlanReason::kPendingTooLong,
      fmt::format("{}; no machine but {}, which it avoided, may have room: it is made anew",
                  DescribeAbsence(process.name, &process), node));
  return true;
}

}  // namespace

// A process that does not come to run is reported after scheduleTimeoutSeconds. It is made anew
// after twice that, each time twice as late: by today's template then, and elsewhere.
void JudgePending(Draft& draft) {
  for (const WantedProcess& wanted : draft.wanted) {
    const SeenProcess* process = draft.Find(wanted.name);
    if (process == nullptr || process->state != ProcessState::kPending || process->is_stopping)
      continue;
    if (!draft.StillNeeds(wanted.role)) continue;
    const Time late = LateAt(draft.job, *process);
    if (draft.now < late) {
      draft.RequeueAt(late);
      continue;
    }
    if (ReturnsToAvoidedNode(draft, *process)) continue;
    if (IsForTheQueue(draft, *process)) continue;
    const Duration timeout = late - process->started_at;
    Duration patience = Patience(*process, timeout);
    // Before training begins a job without room gives way first (give_way.cc), which a younger
    // process would put off.
    if (process->is_unschedulable && !Holds(draft.seen.status, ConditionType::kRunning)) {
      patience = std::max(patience, timeout * kBeforeTraining);
      if (HoldsRoom(draft)) patience = std::max(patience, PatienceForRoom(draft) + timeout);
    }
    Time due = process->started_at + patience;
    if (process->is_unschedulable && draft.seen.room_promised_at)
      due = std::max(due, *draft.seen.room_promised_at + kRoomComesWithin);
    if (draft.now < due) {
      draft.RequeueAt(due);
      continue;
    }
    draft.AvoidNodeOf(*process);
    draft.End(*process, PlanReason::kPendingTooLong);
    draft.Report(EventType::kWarning, PlanReason::kPendingTooLong,
                 fmt::format("{}; it is made anew", DescribeAbsence(process->name, process)));
  }
}

}  // namespace paceline::job
