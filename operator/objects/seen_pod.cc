#include "operator/objects/seen_pod.h"

#include <charconv>
#include <chrono>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/job/process_name.h"
#include "lib/job/rfc3339.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

using job::ProcessState;
using job::Role;
using job::SeenProcess;

constexpr int kSignalBase = 128;  // What a shell and a runtime add to the signal's number.
constexpr int kSigKill = 9, kSigTerm = 15;
constexpr size_t kLastWordMax = 400;

const Json kNothing;

const Json& At(const Json& object, std::string_view key) {
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

std::string Text(const Json& object, std::string_view key) {
  const Json& value = At(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

int64_t Number(const Json& object, std::string_view key) {
  const Json& value = At(object, key);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

std::optional<Time> TimeAt(const Json& object, std::string_view key) {
  return job::ParseTime(Text(object, key));
}

// Of an annotation or a label, which hold text; 0 for what is no number.
int64_t WrittenNumber(const Json& texts, std::string_view key) {
  const std::string text = Text(texts, key);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<Role> RoleOf(std::string_view word) {
  for (const Role role : {Role::kParameterServer, Role::kWorker, Role::kEvaluator}) {
    if (job::ToWord(role) == word) return role;
  }
  return std::nullopt;
}

const Json& Named(const Json& list, std::string_view name) {
  if (!list.is_array()) return kNothing;
  for (const Json& element : list) {
    if (Text(element, "name") == name) return element;
  }
  return kNothing;
}

const Json& ConditionOf(const Json& status, std::string_view type) {
  const Json& conditions = At(status, "conditions");
  if (!conditions.is_array()) return kNothing;
  for (const Json& condition : conditions) {
    if (Text(condition, "type") == type) return condition;
  }
  return kNothing;
}

bool Holds(const Json& status, std::string_view type) {
  return Text(ConditionOf(status, type), "status") == "True";
}

// How the pod's own container ended, or the first init container that kept it from starting.
const Json& TerminatedState(const Json& status, std::string_view container) {
  const Json& own =
      At(At(Named(At(status, "containerStatuses"), container), "state"), "terminated");
  if (own.is_object()) return own;
  const Json& init = At(status, "initContainerStatuses");
  if (init.is_array() && Text(status, "phase") == "Failed") {
    for (const Json& one : init) {
      const Json& terminated = At(At(one, "state"), "terminated");
      if (terminated.is_object() && Number(terminated, "exitCode") != 0) return terminated;
    }
  }
  return kNothing;
}

std::string Shortened(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() > kLastWordMax) text = "..." + text.substr(text.size() - kLastWordMax);
  return text;
}

// A coordinator's last word is its job's last state; what people want to read of it is the reason.
std::string ForPeople(const std::string& word) {
  const Json state = Json::parse(word, nullptr, /*allow_exceptions=*/false);
  const std::string reason = Text(At(state, "finished"), "reason");
  return Shortened(reason.empty() ? word : reason);
}

bool IsTakenAway(const Json& status) {
  if (Holds(status, "DisruptionTarget")) return true;
  const std::string reason = Text(status, "reason");
  for (const std::string_view word : {"Evicted", "Preempting", "NodeLost", "NodeShutdown",
                                      "Shutdown", "Terminated", "NodeAffinity"}) {
    if (reason == word) return true;
  }
  return false;
}

void ReadEnd(const Json& status, const Json& terminated, SeenProcess& process) {
  process.state = ProcessState::kExited;
  const int64_t code = terminated.is_object() ? Number(terminated, "exitCode") : 1;
  const bool is_out_of_memory = Text(terminated, "reason") == "OOMKilled";
  if (code > kSignalBase)
    process.signal = static_cast<int>(code) - kSignalBase;
  else
    process.exit_code = static_cast<int>(code);
  process.ended_at = TimeAt(terminated, "finishedAt")
                         .value_or(TimeAt(ConditionOf(status, "Ready"), "lastTransitionTime")
                                       .value_or(process.started_at));
  process.last_word = ForPeople(Text(terminated, "message"));
  process.is_out_of_memory = is_out_of_memory;
  if (is_out_of_memory) {
    process.last_word = "it used more memory than its limit (OOMKilled)";
    return;
  }
  const bool was_told_to_go = process.signal == kSigKill || process.signal == kSigTerm;
  process.is_disruption = code != 0 && (IsTakenAway(status) || was_told_to_go);
  if (process.last_word.empty()) process.last_word = Shortened(Text(status, "message"));
}

// The taint manager deletes pods of a lost node when what they tolerate is over, which is
// nodeLostSeconds after the node was lost.
std::optional<Time> NodeLostSince(const job::TrainingJob& job, const Json& status) {
  const Json& target = ConditionOf(status, "DisruptionTarget");
  if (Text(target, "reason") != "DeletionByTaintManager") return std::nullopt;
  const std::optional<Time> at = TimeAt(target, "lastTransitionTime");
  if (!at) return std::nullopt;
  return *at - std::chrono::seconds(job.spec.run_policy.node_lost_seconds);
}

// Reasons for waiting that pass by themselves.
bool IsOnItsWay(std::string_view reason) {
  return reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing";
}

// Why a pod does not come to run: by its own container, an init container, or the scheduler.
void ReadWaiting(const Json& status, std::string_view container, SeenProcess& process) {
  const Json& scheduled = ConditionOf(status, "PodScheduled");
  process.is_gated = Text(scheduled, "reason") == "SchedulingGated";
  if (Text(scheduled, "status") == "False" && Text(scheduled, "reason") == "Unschedulable") {
    process.is_unschedulable = true;
    process.waiting_message = Shortened(Text(scheduled, "message"));
    return;
  }
  std::vector<const Json*> containers = {&Named(At(status, "containerStatuses"), container)};
  if (const Json& init = At(status, "initContainerStatuses"); init.is_array())
    for (const Json& one : init) containers.push_back(&one);
  for (const Json* one : containers) {
    const Json& waiting = At(At(*one, "state"), "waiting");
    if (IsOnItsWay(Text(waiting, "reason"))) continue;
    process.waiting_reason = Text(waiting, "reason");
    process.waiting_message = Shortened(Text(waiting, "message"));
    return;
  }
}

}  // namespace

std::optional<SeenProcess> SeenPod(const job::TrainingJob& job, const Json& pod) {
  if (!IsControlledBy(pod, job.metadata.uid.value_or(""))) return std::nullopt;
  const Json& metadata = At(pod, "metadata");
  const Json& labels = At(metadata, "labels");
  const Json& annotations = At(metadata, "annotations");
  const std::optional<Role> role = RoleOf(Text(labels, kRoleLabel));
  if (!role) return std::nullopt;

  SeenProcess process;
  process.name = Text(metadata, "name");
  process.role = *role;
  process.index = WrittenNumber(labels, kIndexLabel);
  if (process.name != job::ProcessName(job.metadata.name, *role, process.index))
    return std::nullopt;
  process.is_stopping = At(metadata, "deletionTimestamp").is_string();
  if (process.is_stopping) {
    process.gone_by = TimeAt(metadata, "deletionTimestamp");
    process.node_lost_since = NodeLostSince(job, At(pod, "status"));
  }
  process.node = Text(At(pod, "spec"), "nodeName");
  process.attempt = WrittenNumber(annotations, kAttemptAnnotation);
  process.failures = WrittenNumber(annotations, kFailuresAnnotation);
  process.unfit = WrittenNumber(annotations, kUnfitAnnotation);
  process.generation_start =
      static_cast<uint64_t>(WrittenNumber(annotations, kGenerationAnnotation));

  const Json& status = At(pod, "status");
  const std::string phase = Text(status, "phase");
  const Json& state = At(Named(At(status, "containerStatuses"), ContainerName(*role)), "state");
  const Json& running = At(state, "running");
  process.started_at = TimeAt(metadata, "creationTimestamp").value_or(Time{});
  if (running.is_object())
    process.started_at = TimeAt(running, "startedAt").value_or(process.started_at);
  const Json& terminated = TerminatedState(status, ContainerName(*role));
  if (terminated.is_object()) {
    process.started_at = TimeAt(terminated, "startedAt").value_or(process.started_at);
    ReadEnd(status, terminated, process);
  } else if (phase == "Failed" || phase == "Succeeded") {
    ReadEnd(status, kNothing, process);
  } else if (running.is_object() && phase == "Running") {
    process.state = ProcessState::kRunning;
    process.is_ready = Text(ConditionOf(status, "Ready"), "status") != "False";
  } else {
    ReadWaiting(status, ContainerName(*role), process);
  }
  return process;
}

const kube::Selection& PartsOfPod() {
  static const kube::Selection parts({
      "/metadata/name",
      "/metadata/namespace",
      "/metadata/uid",
      "/metadata/resourceVersion",
      "/metadata/creationTimestamp",
      "/metadata/deletionTimestamp",
      "/metadata/labels/paceline.dev~1job",
      "/metadata/labels/paceline.dev~1role",
      "/metadata/labels/paceline.dev~1index",
      "/metadata/annotations/paceline.dev~1attempt",
      "/metadata/annotations/paceline.dev~1failures",
      "/metadata/annotations/paceline.dev~1unfit",
      "/metadata/annotations/paceline.dev~1generation-start",
      "/metadata/ownerReferences/uid",
      "/metadata/ownerReferences/controller",
      "/spec/nodeName",
      "/status/phase",
      "/status/reason",
      "/status/message",
      "/status/podIP",
      "/status/conditions/type",
      "/status/conditions/status",
      "/status/conditions/reason",
      "/status/conditions/message",
      "/status/conditions/lastTransitionTime",
      "/status/containerStatuses/name",
      "/status/containerStatuses/state",
      "/status/initContainerStatuses/name",
      "/status/initContainerStatuses/state",
  });
  return parts;
}

std::optional<std::string> PodAddress(const Json& pod) {
  const std::string address = Text(At(pod, "status"), "podIP");
  if (address.empty()) return std::nullopt;
  return address;
}

}  // namespace paceline::controller
