#include <algorithm>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "lib/job/last_line.h"
#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

// A parameter server that ended other than well, or that training went on with and that is gone.
bool JudgeParameterServers(Draft& draft) {
  if (draft.options.can_recover_shards || draft.IsModelWritten()) return false;
  for (const WantedProcess& wanted : draft.wanted) {
    if (wanted.role != Role::kParameterServer) continue;
    const SeenProcess* process = draft.Find(wanted.name);
    const bool is_gone = process == nullptr && Holds(draft.seen.status, ConditionType::kRunning);
    const bool has_failed = process != nullptr && process->state == ProcessState::kExited &&
                            (process->is_disruption || IsFailure(*process));
    if (!is_gone && !has_failed) continue;
    draft.Conclude(Verdict::kFailed, PlanReason::kParameterServerLost,
                   fmt::format("{}, and this version cannot bring a parameter server back",
                               is_gone ? wanted.name + " is gone" : DescribeExit(*process)));
    return true;
  }
  return false;
}

// Whether how it ends says anything of the job. The evaluator's end is judged by itself; once
// training has reached its stop, workers have nothing left to do, and once the model is written,
// nobody.
bool Matters(const Draft& draft, const SeenProcess& process) {
  if (process.role == Role::kEvaluator || draft.IsModelWritten()) return false;
  return process.role == Role::kParameterServer || !draft.IsFinishing();
}

// Whether a life of this worker has told the coordinator what it computes on. For what the worker
// was expelled after that, its machine may not be to blame another time.
bool HasJoined(const Draft& draft, const SeenProcess& process) {
  return draft.report != nullptr &&
         std::ranges::any_of(draft.report->workers, [&](const WorkerStatus& worker) {
           return worker.name == process.name && !worker.device.empty();
         });
}

// Whether the worker ended since its command or script is wrong: the shell does not find the
// program or may not start it, or Python cannot read the script or import what it names. A library
// that a machine may lack (libcuda.so.1) says nothing of the script.
bool IsOfItsText(const SeenProcess& process) {
  if (process.exit_code == 126 || process.exit_code == 127) return true;
  const std::string word = LastLine(process.last_word);
  if (word.find(".so") != std::string::npos) return false;
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{
          "ModuleNotFoundError:", "ImportError:", "SyntaxError:", "IndentationError:", "TabError:",
          "NameError:"},
      [&](std::string_view name) { return word.starts_with(name); });
}

// A worker of which no life has joined, and whose text was wrong twice. One that has joined may
// import, or name, what a sample alone asks for.
bool CannotBeRead(const Draft& draft, const SeenProcess& process) {
  return process.role == Role::kWorker && IsFailure(process) && process.signal == 0 &&
         draft.FailuresOf(process) > 1 && IsOfItsText(process) && draft.report != nullptr &&
         !HasJoined(draft, process);
}

bool JudgeHopeless(Draft& draft) {
  for (const SeenProcess& process : draft.seen.processes) {
    if (!IsHopeless(process) && !CannotBeRead(draft, process)) continue;
    if (!Matters(draft, process)) continue;
    draft.Conclude(Verdict::kFailed, PlanReason::kCannotWork,
                   fmt::format("{}; starting it again is of no use{}", DescribeExit(process),
                               process.last_word.empty() ? ", and its log may say why" : ""));
    return true;
  }
  return false;
}

// How often it may end as unfit and be started again.
int64_t RetriesOf(const Draft& draft, const SeenProcess& process) {
  const int64_t limit = draft.job.spec.run_policy.backoff_limit;
  const std::optional<int64_t>& retries = draft.options.unfit_retries;
  return retries && !HasJoined(draft, process) ? std::min(limit, *retries) : limit;
}

// Machines that cannot do the work are for other machines to make up for: they are the job's end
// only where too few workers are left.
bool JudgeUnfitOf(Draft& draft, const GroupView& group) {
  int64_t unable = 0;
  const SeenProcess* last = nullptr;
  for (const WantedProcess& wanted : draft.wanted) {
    if (wanted.role != Role::kWorker || wanted.group != group.name) continue;
    const SeenProcess* process = draft.Find(wanted.name);
    if (process == nullptr || IsUp(process) || !Matters(draft, *process)) continue;
    // Where it was last it could do the work: it may even have done all of it.
    if (process->state == ProcessState::kExited && !IsUnfit(*process)) continue;
    if (CountUnfit(*process, draft.now, draft.options.healthy_after) <= RetriesOf(draft, *process))
      continue;
    ++unable;
    if (last == nullptr || process->ended_at > last->ended_at) last = process;
  }
  if (last == nullptr || group.replicas - unable >= group.needed) return false;
  const std::string of = group.name.empty() ? "" : fmt::format(" of group {}", group.name);
  const int64_t retries = RetriesOf(draft, *last);
  const int64_t limit = draft.job.spec.run_policy.backoff_limit;
  const std::string tried =
      retries < limit
          ? fmt::format("which {} starts have shown, there is no other machine,", retries + 1)
          : fmt::format("after more starts than backoffLimit, {},", limit);
  draft.Conclude(Verdict::kFailed, PlanReason::kCannotWorkHere,
                 fmt::format("{}; the machines of {} of {} workers{} cannot do the work, {} and "
                             "minReplicas asks for {}",
                             DescribeExit(*last), unable, group.replicas, of, tried, group.needed));
  return true;
}

bool JudgeUnfit(Draft& draft) {
  for (const GroupView& group : GroupsOf(draft.job.spec.workers)) {
    if (JudgeUnfitOf(draft, group)) return true;
  }
  return false;
}

void JudgeBackoffLimit(Draft& draft) {
  int64_t failures = 0;
  const SeenProcess* last = nullptr;
  for (const SeenProcess& process : draft.seen.processes) {
    if (!Matters(draft, process)) continue;
    const int64_t own = draft.FailuresOf(process);
    failures += own;
    const bool has_ended = process.state == ProcessState::kExited && !process.is_disruption;
    if (has_ended && own > 0 && (last == nullptr || process.ended_at > last->ended_at))
      last = &process;
  }
  // Workers that do not matter any more have failed as often as before: the status keeps saying so.
  draft.plan.status.failures =
      draft.IsFinishing() ? std::max(draft.seen.status.failures, failures) : failures;
  const int64_t limit = draft.job.spec.run_policy.backoff_limit;
  if (failures <= limit || last == nullptr) return;
  draft.Conclude(
      Verdict::kFailed, PlanReason::kBackoffLimitExceeded,
      fmt::format("{}: failure {}, backoffLimit allows {}", DescribeExit(*last), failures, limit));
}

}  // namespace

void JudgeFailure(Draft& draft) {
  if (draft.CoordinatorSucceeded()) return;
  if (draft.report != nullptr && draft.report->phase == TrainingPhase::kFailed) {
    draft.remembered().has_coordinator_ended = true;
    return draft.Conclude(
        Verdict::kFailed,
        draft.report->is_unjudged ? PlanReason::kTargetNotJudged : PlanReason::kTrainingFailed,
        draft.report->message.empty() ? "the coordinator gave up" : draft.report->message);
  }
  if (JudgeHopeless(draft) || JudgeParameterServers(draft) || JudgeUnfit(draft)) return;
  JudgeBackoffLimit(draft);
}

}  // namespace paceline::job
