#include "lib/job/plan/draft.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/job/plan/recall.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/job/worker_groups.h"

namespace paceline::job {
namespace {

constexpr size_t kAvoidedMax = 20;

// A list or a const one; null if the process of that name avoids nothing.
template <class Avoided>
auto FindAvoided(Avoided& avoided, const std::string& name) -> decltype(avoided.data()) {
  const auto found = std::find_if(avoided.begin(), avoided.end(),
                                  [&](const AvoidedNode& one) { return one.name == name; });
  return found == avoided.end() ? nullptr : &*found;
}

std::vector<WantedProcess> Wanted(const TrainingJob& job) {
  std::vector<WantedProcess> wanted;
  const auto want = [&](Role role, int64_t count, std::string_view group = "") {
    for (int64_t i = 0; i < count; ++i) {
      wanted.push_back(
          {ProcessName(job.metadata.name, role, i, group), role, i, std::string(group)});
    }
  };
  want(Role::kParameterServer, job.spec.parameter_server.shards);
  for (const GroupView& group : GroupsOf(job.spec.workers))
    want(Role::kWorker, group.replicas, group.name);
  want(Role::kEvaluator, job.spec.evaluator ? 1 : 0);
  return wanted;
}

const CoordinatorReport* CurrentReport(const Observation& seen) {
  if (!seen.coordinator) return nullptr;
  const bool is_current =
      seen.coordinator->generation_start == static_cast<uint64_t>(seen.status.coordinator_starts);
  return is_current ? &*seen.coordinator : nullptr;
}

// Whether it ran for so long that what was counted against it before is forgotten.
bool IsForgiven(const SeenProcess& process, Time now, Duration healthy_after) {
  const Time until = process.state == ProcessState::kExited ? process.ended_at : now;
  return process.state != ProcessState::kPending && until - process.started_at >= healthy_after;
}

}  // namespace

Draft::Draft(const TrainingJob& the_job, const Observation& observation, Time at,
             const PlanOptions& chosen)
    : job(the_job),
      seen(observation),
      now(at),
      options(chosen),
      wanted(Wanted(the_job)),
      report(CurrentReport(observation)),
      before(Recall(observation.status)) {
  plan.status = observation.status;
  plan.status.remembered = before;
  for (const SeenProcess& process : seen.processes) by_name_[process.name] = &process;
  for (const WantedProcess& process : wanted) wanted_names_.insert(process.name);
}

const SeenProcess* Draft::Find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::optional<int64_t> Draft::AttemptOf(const std::string& name) const {
  const auto found = attempts_.find(name);
  return found == attempts_.end() ? std::nullopt : std::optional(found->second);
}

bool Draft::IsGang() const {
  return options.gangs == GangPlacement::kByScheduler &&
         AsksForGang(job.spec.run_policy.scheduling_policy);
}

bool Draft::KeepsCheckpoints() const {
  return HasCheckpoints(job.spec) ||
         (MayHaveDefaultCheckpoints(job.spec) &&
          (options.has_place_for_checkpoints ||
           CheckpointPlaceOf(job.spec, SharesOutput()) != CheckpointPlace::kNowhere));
}

bool Draft::IsFinishing() const {
  if (report != nullptr) return report->phase >= TrainingPhase::kFinishing;
  const auto& finishing = seen.status.finishing;
  return finishing && finishing->coordinator_start == seen.status.coordinator_starts;
}

bool Draft::IsModelWritten() const {
  if (report != nullptr) return report->model_version.has_value();
  return IsFinishing() && seen.status.finishing->model_version.has_value();
}

bool Draft::StillNeeds(Role role) const {
  if (role == Role::kParameterServer) return !IsModelWritten();
  if (role == Role::kWorker) return !IsFinishing();
  return !remembered().is_evaluator_gone;
}

// Around the end of training everybody ends well, so only the word of the coordinator that training
// goes on counts, and it has a moment to say otherwise. Whom a former one sent home has not left
// this one.
int64_t Draft::FailuresOf(const SeenProcess& process) const {
  const int64_t failures = CountFailures(process, now, options.healthy_after);
  const bool is_of_former =
      process.generation_start > 0 &&
      process.generation_start < static_cast<uint64_t>(seen.status.coordinator_starts);
  const bool has_left = !is_of_former && !IsCoordinator(process) && HasEndedWell(process) &&
                        report != nullptr && !IsFinishing() && !MayHaveFinished(process) &&
                        !HasScriptEnded(process.role, process.index, process.group);
  return failures + (has_left ? 1 : 0);
}

bool Draft::HasScriptEnded(Role role, int64_t index, const std::string& group) const {
  return role == Role::kWorker && report != nullptr &&
         std::ranges::any_of(report->ended, [&](const SeenEnded& one) {
           return one.worker == index && one.group == group;
         });
}

bool Draft::MayHaveFinished(const SeenProcess& process) const {
  return !IsCoordinator(process) && HasEndedWell(process) &&
         now < process.ended_at + options.backoff_min;
}

bool Draft::CoordinatorSucceeded() const {
  if (report != nullptr && report->phase == TrainingPhase::kSucceeded) return true;
  const SeenProcess* coordinator = Find(wanted.front().name);
  return coordinator != nullptr && coordinator->state == ProcessState::kExited &&
         !coordinator->is_stopping && !coordinator->is_disruption && coordinator->exit_code == 0 &&
         coordinator->signal == 0;
}

void Draft::Begin(const WantedProcess& process, int64_t attempt, const PastEnds& ends) {
  const bool is_coordinator = process.role == Role::kParameterServer && process.index == 0;
  if (is_coordinator && !WasRefused(process.name)) ++plan.status.coordinator_starts;
  attempts_[process.name] = attempt;
  plan.actions.emplace_back(Start{process.name,
                                  process.role,
                                  process.index,
                                  static_cast<uint64_t>(plan.status.coordinator_starts),
                                  attempt,
                                  ends.failures,
                                  ends.unfit,
                                  ends.disruptions,
                                  {},
                                  false,
                                  SharesOutput(),
                                  process.group});
  if (const AvoidedNode* avoided = FindAvoided(plan.status.avoided_nodes, process.name)) {
    Start& start = std::get<Start>(plan.actions.back());
    start.avoid_node = avoided->node;
    start.may_use_avoided_node = avoided->has_no_other;
  }
}

void Draft::End(const SeenProcess& process, PlanReason reason) {
  plan.actions.emplace_back(Stop{process.name, options.stop_grace, reason});
}

void Draft::Abandon(const SeenProcess& process, PlanReason reason) {
  std::erase_if(plan.actions, [&](const Action& action) {
    const Stop* stop = std::get_if<Stop>(&action);
    return stop != nullptr && stop->name == process.name;
  });
  plan.actions.emplace_back(Stop{process.name, Duration::zero(), reason});
}

void Draft::AvoidNodeOf(const SeenProcess& process) {
  if (process.node.empty() || HasNoOtherNode(process)) return;
  std::vector<AvoidedNode>& avoided = plan.status.avoided_nodes;
  std::erase_if(avoided, [&](const AvoidedNode& one) { return one.name == process.name; });
  avoided.push_back({process.name, process.node, false});
  if (avoided.size() > kAvoidedMax) avoided.erase(avoided.begin());
}

std::string Draft::AllowAvoidedNode(const SeenProcess& process) {
  AvoidedNode* avoided = FindAvoided(plan.status.avoided_nodes, process.name);
  if (avoided == nullptr || avoided->has_no_other) return {};
  avoided->has_no_other = true;
  return avoided->node;
}

bool Draft::HasNoOtherNode(const SeenProcess& process) const {
  const AvoidedNode* avoided = FindAvoided(plan.status.avoided_nodes, process.name);
  return avoided != nullptr && avoided->has_no_other && avoided->node == process.node;
}

void Draft::Conclude(Verdict how, PlanReason reason, std::string message) {
  verdict = how;
  const bool is_success = how == Verdict::kSucceeded;
  plan.status.completion_time = now;
  Report(is_success ? EventType::kNormal : EventType::kWarning, reason, message);
  plan.events.back().ends_job = true;
  SetCondition(is_success ? ConditionType::kSucceeded : ConditionType::kFailed,
               ConditionStatus::kTrue, reason, std::move(message));
}

void Draft::SetCondition(ConditionType type, ConditionStatus status, PlanReason reason,
                         std::string message) {
  std::vector<Condition>& conditions = plan.status.conditions;
  auto place = std::find_if(conditions.begin(), conditions.end(),
                            [&](const Condition& c) { return c.type == type; });
  if (place == conditions.end()) {
    Condition fresh;
    fresh.type = type;
    // In the order of the enum, so that a status reads the same every time.
    place = std::find_if(conditions.begin(), conditions.end(),
                         [&](const Condition& c) { return c.type > type; });
    place = conditions.insert(place, fresh);
  }
  if (place->status != status || !place->last_transition_time) place->last_transition_time = now;
  place->status = status;
  place->reason = ToWord(reason);
  place->message = std::move(message);
  place->observed_generation = job.metadata.generation;
}

void Draft::Report(EventType type, PlanReason reason, std::string message) {
  plan.events.push_back({.type = type, .reason = reason, .message = std::move(message)});
}

void Draft::RequeueAt(Time at) {
  plan.requeue_at = plan.requeue_at ? std::min(*plan.requeue_at, at) : at;
}

bool IsFailure(const SeenProcess& process) {
  return process.state == ProcessState::kExited && !process.is_stopping && !process.is_disruption &&
         (process.exit_code != 0 || process.signal != 0);
}

bool IsHopeless(const SeenProcess& process) {
  return IsFailure(process) && process.signal == 0 && process.exit_code == kExitCannotWork;
}

bool HasEndedWell(const SeenProcess& process) {
  return process.state == ProcessState::kExited && !process.is_stopping && !process.is_disruption &&
         !IsFailure(process);
}

bool IsCoordinator(const SeenProcess& process) {
  return process.role == Role::kParameterServer && process.index == 0;
}

bool IsUnfit(const SeenProcess& process) {
  return process.role == Role::kWorker && IsFailure(process) && process.signal == 0 &&
         process.exit_code == kExitCannotWorkHere;
}

bool IsUp(const SeenProcess* process) {
  return process != nullptr && process->state == ProcessState::kRunning && !process->is_stopping;
}

bool IsReady(const SeenProcess* process) {
  return IsUp(process) && process->is_ready && !process->node_lost_since;
}

Time LateAt(const TrainingJob& job, const SeenProcess& process) {
  const int64_t seconds = job.spec.run_policy.scheduling_policy.schedule_timeout_seconds;
  return process.started_at + std::chrono::seconds(seconds);
}

int64_t CountFailures(const SeenProcess& process, Time now, Duration healthy_after) {
  return (IsForgiven(process, now, healthy_after) ? 0 : process.failures) +
         (IsFailure(process) && !IsUnfit(process) ? 1 : 0);
}

int64_t CountUnfit(const SeenProcess& process, Time now, Duration healthy_after) {
  return (IsForgiven(process, now, healthy_after) ? 0 : process.unfit) + (IsUnfit(process) ? 1 : 0);
}

int64_t CountDisruptions(const SeenProcess& process, Time now, Duration healthy_after) {
  const bool is_one = process.state == ProcessState::kExited && process.is_disruption;
  return (IsForgiven(process, now, healthy_after) ? 0 : process.disruptions) + (is_one ? 1 : 0);
}

}  // namespace paceline::job
