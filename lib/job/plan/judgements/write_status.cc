#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "lib/job/plan/describe.h"
#include "lib/job/plan/judgements/judgements.h"
#include "lib/job/state/device.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

constexpr size_t kWorkersMax = 20;  // In status.workers.

ReplicaStatus& CountOf(ReplicaStatuses& counts, Role role) {
  return role == Role::kParameterServer ? counts.parameter_server
         : role == Role::kWorker        ? counts.worker
                                        : counts.evaluator;
}

// Once a job is over its pods go away, and what they came to must not go with them.
void KeepEnds(const ReplicaStatus& before, ReplicaStatus& now) {
  now.succeeded = std::max(now.succeeded, before.succeeded);
  now.failed = std::max(now.failed, before.failed);
}

void CountReplicas(Draft& draft) {
  ReplicaStatuses counts;
  int64_t restarts = 0;
  for (const SeenProcess& process : draft.seen.processes) {
    ReplicaStatus& count = CountOf(counts, process.role);
    restarts += process.attempt;
    if (ServesModel(draft, process)) {
      // Its part in training is over; what it came to is what the job came to.
      ++(draft.verdict == Verdict::kSucceeded ? count.succeeded : count.failed);
    } else if (process.state == ProcessState::kExited) {
      ++(IsFailure(process) || process.is_disruption ? count.failed : count.succeeded);
    } else {
      ++count.active;
      if (IsReady(&process)) ++count.ready;
    }
  }
  JobStatus& status = draft.plan.status;
  if (IsFinished(draft.seen.status)) {
    KeepEnds(draft.seen.status.replica_statuses.parameter_server, counts.parameter_server);
    KeepEnds(draft.seen.status.replica_statuses.worker, counts.worker);
    KeepEnds(draft.seen.status.replica_statuses.evaluator, counts.evaluator);
  }
  status.replica_statuses = counts;
  status.replicas = counts.worker.active;
  status.ready_workers =
      fmt::format("{}/{}", counts.worker.ready, ReplicasOf(draft.job.spec.workers));
  // What is gone took its count with it.
  status.restarts = std::max(status.restarts, restarts);
}

void CountGroups(Draft& draft) {
  std::vector<GroupStatus>& groups = draft.plan.status.worker_groups;
  groups.clear();
  for (const GroupView& group : GroupsOf(draft.job.spec.workers)) {
    if (group.name.empty()) return;
    GroupStatus& status = groups.emplace_back();
    status.name = group.name;
    const Computes device = DeviceOf(draft.job.spec, Role::kWorker, group.name).device;
    status.device = device == Computes::kCpu    ? "CPU"
                    : device == Computes::kCuda ? "CUDA"
                                                : "CUDA or CPU";
    status.replicas = group.replicas;
    for (const SeenProcess& process : draft.seen.processes) {
      if (process.role != Role::kWorker || process.group != group.name ||
          process.state == ProcessState::kExited)
        continue;
      ++status.active;
      if (IsReady(&process)) ++status.ready;
    }
  }
}

// To six digits: more would be noise that changes a status at each look.
double Rounded(double number) {
  const std::string text = fmt::format("{:.6g}", number);
  double rounded = number;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

void Round(std::optional<double>& number) {
  if (number) number = Rounded(*number);
}

void CopyProgress(const Progress& said, JobStatus& status) {
  Progress& progress = status.progress.emplace(said);
  progress.epoch = Rounded(progress.epoch);
  progress.percent = Rounded(progress.percent);
  for (auto* number : {&progress.eta_seconds, &progress.loss, &progress.metric, &progress.accuracy,
                       &progress.samples_per_second})
    Round(*number);
  // What is not quite done is not called so.
  progress.done = fmt::format("{:.0f}%, step {}", std::floor(progress.percent), progress.step);
  progress.eta = progress.eta_seconds ? DescribeDuration(*progress.eta_seconds) : "";
}

void CopyWorkers(const Draft& draft, JobStatus& status) {
  status.workers = draft.report->workers;
  std::stable_sort(status.workers.begin(), status.workers.end(),
                   [](const WorkerStatus& a, const WorkerStatus& b) {
                     return a.slowdown_percent > b.slowdown_percent;
                   });
  if (status.workers.size() > kWorkersMax) status.workers.resize(kWorkersMax);
  for (WorkerStatus& worker : status.workers) {
    worker.compute_seconds_p50 = Rounded(worker.compute_seconds_p50);
    worker.slowdown_percent = Rounded(worker.slowdown_percent);
    const SeenProcess* process = draft.Find(worker.name);
    if (process == nullptr || process->node.empty()) continue;
    worker.pod = process->name;
    worker.node = process->node;
  }
  const WorkerStatus* const slowest = status.workers.empty() ? nullptr : &status.workers.front();
  if (!status.progress || slowest == nullptr || slowest->slowdown_percent <= 0) return;
  status.progress->slowest =
      fmt::format("{} {:.1f}x", slowest->name, slowest->slowdown_percent / 100);
}

void CopySync(Draft& draft) {
  const SyncStatus& said = *draft.report->sync;
  std::optional<SyncStatus>& sync = draft.plan.status.sync;
  // Whatever wrote it, without k, which changes by itself.
  const auto composition = [](const SyncStatus& status) {
    const std::string words = status.summary.substr(0, status.summary.find(' '));
    return words.empty() ? std::string(ToWord(status.scheme)) : words;
  };
  if (sync && composition(*sync) != composition(said)) {
    draft.Report(
        EventType::kNormal, PlanReason::kSchemeChanged,
        fmt::format("the scheme is {} now; it was {}", composition(said), composition(*sync)));
  }
  sync = said;
  sync->summary = composition(said);
  if (said.waiting_for > 0) sync->summary += fmt::format(" k={}", said.waiting_for);
}

// A fresh coordinator counts anew; what it finds once more is no news.
void TellPoisoned(Draft& draft) {
  const CoordinatorReport& report = *draft.report;
  int64_t& known = draft.plan.status.poisoned_samples;
  if (report.poisoned <= known) return;
  const auto first = static_cast<size_t>(
      std::min<int64_t>(known, static_cast<int64_t>(report.poisoned_of.size())));
  std::vector<std::string> news(report.poisoned_of.begin() + static_cast<ptrdiff_t>(first),
                                report.poisoned_of.end());
  draft.Report(EventType::kWarning, PlanReason::kPoisonedSample,
               fmt::format("left out because they made two workers ill, or ended them: {}",
                           news.empty() ? "more samples" : Joined(std::move(news))));
  known = report.poisoned;
}

void CopyReport(Draft& draft) {
  JobStatus& status = draft.plan.status;
  status.standstill.clear();
  if (draft.report == nullptr || IsFinished(draft.seen.status)) return;
  if (draft.verdict == Verdict::kGoesOn) status.standstill = draft.report->standstill;
  if (draft.report->progress) CopyProgress(*draft.report->progress, status);
  if (draft.report->sync) CopySync(draft);
  if (draft.report->checkpoint) status.checkpoint = draft.report->checkpoint;
  // A coordinator says it once, and the same for as long as it lives.
  if (!draft.report->checkpoint_note.empty() &&
      draft.before.note_of_start != status.coordinator_starts) {
    draft.remembered().note_of_start = status.coordinator_starts;
    status.checkpoint_note = draft.report->checkpoint_note;
    draft.Report(EventType::kNormal, PlanReason::kCheckpointsFound, status.checkpoint_note);
  }
  CopyWorkers(draft, status);
  TellPoisoned(draft);
}

// Why nothing runs yet, where that is known and does not pass by itself.
std::string StartingWord(const JobStatus& status) {
  const std::string& reason = status.remembered->resources;
  for (PlanReason blocked : {PlanReason::kResourcesRefused, PlanReason::kWaitsForFormerJob,
                             PlanReason::kClaimTerminating, PlanReason::kClaimMissing,
                             PlanReason::kCannotStart, PlanReason::kUnschedulable}) {
    if (reason == ToWord(blocked)) return reason;
  }
  return std::string(ToWord(PlanReason::kStarting));
}

std::string StateWord(const JobStatus& status) {
  for (ConditionType type :
       {ConditionType::kFailed, ConditionType::kSucceeded, ConditionType::kSuspended}) {
    if (Holds(status, type)) return std::string(ToWord(type));
  }
  if (Holds(status, ConditionType::kRunning)) {
    const bool is_degraded = Holds(status, ConditionType::kDegraded);
    return std::string(ToWord(is_degraded ? ConditionType::kDegraded : ConditionType::kRunning));
  }
  const std::string word = StartingWord(status);
  const bool is_blocked = word != ToWord(PlanReason::kStarting);
  if (!is_blocked && Holds(status, ConditionType::kRestarting))
    return std::string(ToWord(ConditionType::kRestarting));
  return word;
}

}  // namespace

void WriteStatus(Draft& draft) {
  CountReplicas(draft);
  CountGroups(draft);
  RecordFinishing(draft);
  RecordRollBack(draft);  // Compares with the last status' progress.
  CopyReport(draft);
  WriteConditions(draft);
  JudgeGang(draft);
  JobStatus& status = draft.plan.status;
  status.observed_generation = draft.job.metadata.generation;
  status.selector =
      fmt::format("paceline.dev/job={},paceline.dev/role=worker", draft.job.metadata.name);
  status.state = StateWord(status);
}

}  // namespace paceline::job
