#include "operator/objects/seen/seen_pod.h"

#include <charconv>
#include <chrono>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "lib/base/json_text.h"
#include "lib/job/last_line.h"
#include "lib/job/process_name.h"
#include "lib/job/state/rfc3339.h"
#include "operator/objects/json_at.h"
#include "operator/objects/names.h"
#include "operator/objects/seen/foreign_program.h"
#include "operator/objects/seen/pod_end.h"

namespace paceline::controller {
namespace {

using job::ProcessState;
using job::Role;
using job::SeenProcess;

constexpr int kSignalBase = 128;  // What a shell and a runtime add to the signal's number.
constexpr size_t kLastWordMax = 400;

std::optional<Time> TimeAt(const Json& object, std::string_view key) {
  return job::ParseTime(TextAt(object, key));
}

// Of an annotation, which holds text; 0 for what is no number.
int64_t WrittenNumber(const Json& texts, std::string_view key) {
  const std::string text = TextAt(texts, key);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// How the pod's own container ended, or the first init container that kept it from starting.
const Json& TerminatedState(const Json& status, std::string_view container) {
  const Json& own =
      At(At(Among(At(status, "containerStatuses"), "name", container), "state"), "terminated");
  if (own.is_object()) return own;
  const Json& init = At(status, "initContainerStatuses");
  if (init.is_array() && TextAt(status, "phase") == "Failed") {
    for (const Json& one : init) {
      const Json& terminated = At(At(one, "state"), "terminated");
      if (terminated.is_object() && NumberAt(terminated, "exitCode") != 0) return terminated;
    }
  }
  return Nothing();
}

std::string Shortened(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.size() > kLastWordMax) text = "..." + text.substr(text.size() - kLastWordMax);
  return text;
}

// A coordinator's last word is its job's last state; what people want to read of it is the reason.
std::string ForPeople(const std::string& word) {
  const Json state = JsonOrNone(word);
  const std::string reason = TextAt(At(state, "finished"), "reason");
  return Shortened(reason.empty() ? word : reason);
}

void ReadConditions(const Json& status, SeenProcess& process) {
  const Json& conditions = At(status, "conditions");
  if (!conditions.is_array()) return;
  for (const Json& condition : conditions) {
    const auto word = job::FromWord<job::ConditionStatus>(TextAt(condition, "status"));
    if (word) process.conditions.push_back({TextAt(condition, "type"), *word});
  }
}

// `image`: of what ended, as far as it is known.
void ReadEnd(const Json& status, const Json& terminated, bool is_own_program,
             const std::string& image, SeenProcess& process) {
  process.state = ProcessState::kExited;
  ReadConditions(status, process);
  const int64_t code = terminated.is_object() ? NumberAt(terminated, "exitCode") : 1;
  const bool is_out_of_memory = TextAt(terminated, "reason") == "OOMKilled";
  if (code > kSignalBase)
    process.signal = static_cast<int>(code) - kSignalBase;
  else
    process.exit_code = static_cast<int>(code);
  process.ended_at = TimeAt(terminated, "finishedAt")
                         .value_or(TimeAt(ConditionAt(status, "Ready"), "lastTransitionTime")
                                       .value_or(process.started_at));
  const std::string word = TextAt(terminated, "message");
  // A program that is not ours leaves none: the kubelet takes the end of its output.
  process.last_word = ForPeople(is_own_program ? job::LastLine(word) : word);
  process.is_out_of_memory = is_out_of_memory;
  if (is_out_of_memory) {
    process.last_word = "it used more memory than its limit (OOMKilled)";
    return;
  }
  const EndKind kind = HowItEnded(status, terminated).kind;
  process.is_disruption = kind == EndKind::kDisruption;
  if (kind == EndKind::kUnfit) {
    process.exit_code = job::kExitCannotWorkHere;
    process.signal = 0;
    process.last_word = DescribeForeign(image, word);
  }
  if (process.last_word.empty()) process.last_word = Shortened(TextAt(status, "message"));
}

// The taint manager deletes pods of a lost node when what they tolerate is over, which is
// nodeLostSeconds after the node was lost.
std::optional<Time> NodeLostSince(const job::TrainingJob& job, const Json& status) {
  const Json& target = ConditionAt(status, "DisruptionTarget");
  if (TextAt(target, "reason") != "DeletionByTaintManager") return std::nullopt;
  const std::optional<Time> at = TimeAt(target, "lastTransitionTime");
  if (!at) return std::nullopt;
  return *at - std::chrono::seconds(job.spec.run_policy.node_lost_seconds);
}

// Reasons for waiting that pass by themselves.
bool IsOnItsWay(std::string_view reason) {
  return reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing";
}

// Why a pod does not come to run: by its own container, an init container, or the scheduler.
void ReadWaiting(const Json& status, std::string_view container, const std::string& image,
                 SeenProcess& process) {
  const Json& scheduled = ConditionAt(status, "PodScheduled");
  process.is_gated = TextAt(scheduled, "reason") == "SchedulingGated";
  if (TextAt(scheduled, "status") == "False" && TextAt(scheduled, "reason") == "Unschedulable") {
    process.is_unschedulable = true;
    process.waiting_message = Shortened(TextAt(scheduled, "message"));
    return;
  }
  std::vector<const Json*> containers = {
      &Among(At(status, "containerStatuses"), "name", container)};
  if (const Json& init = At(status, "initContainerStatuses"); init.is_array())
    for (const Json& one : init) containers.push_back(&one);
  for (const Json* one : containers) {
    const Json& waiting = At(At(*one, "state"), "waiting");
    if (IsOnItsWay(TextAt(waiting, "reason"))) continue;
    process.waiting_reason = TextAt(waiting, "reason");
    const std::string message = TextAt(waiting, "message");
    const bool is_own = one == containers.front();
    process.waiting_message = IsForForeignImage(message)
                                  ? DescribeForeign(is_own ? image : "", Shortened(message))
                                  : Shortened(message);
    return;
  }
}

}  // namespace

std::optional<SeenProcess> SeenPod(const job::TrainingJob& job, const Json& pod) {
  if (!IsControlledBy(pod, job.metadata.uid.value_or(""))) return std::nullopt;
  const Json& metadata = At(pod, "metadata");
  const Json& annotations = At(metadata, "annotations");
  const std::string name = TextAt(metadata, "name");
  const auto named = job::ReadProcessName(job.metadata.name, name);
  if (!named) return std::nullopt;
  const Role role = named->role;

  SeenProcess process;
  process.name = name;
  process.role = role;
  process.index = named->id.index;
  // A group that the job has no more is one yet: its pods are to go.
  if (named->id.group != job::GroupOf(role)) process.group = named->id.group;
  process.is_stopping = At(metadata, "deletionTimestamp").is_string();
  if (process.is_stopping) {
    process.gone_by = TimeAt(metadata, "deletionTimestamp");
    process.node_lost_since = NodeLostSince(job, At(pod, "status"));
  }
  process.node = TextAt(At(pod, "spec"), "nodeName");
  process.attempt = WrittenNumber(annotations, kAttemptAnnotation);
  process.failures = WrittenNumber(annotations, kFailuresAnnotation);
  process.unfit = WrittenNumber(annotations, kUnfitAnnotation);
  process.disruptions = WrittenNumber(annotations, kDisruptionsAnnotation);
  process.generation_start =
      static_cast<uint64_t>(WrittenNumber(annotations, kGenerationAnnotation));

  const Json& status = At(pod, "status");
  const std::string phase = TextAt(status, "phase");
  const Json& state =
      At(Among(At(status, "containerStatuses"), "name", ContainerName(role)), "state");
  const Json& running = At(state, "running");
  process.started_at = TimeAt(metadata, "creationTimestamp").value_or(Time{});
  if (running.is_object())
    process.started_at = TimeAt(running, "startedAt").value_or(process.started_at);
  const Json& terminated = TerminatedState(status, ContainerName(role));
  const bool is_own_program = role != Role::kParameterServer && !job.spec.workers.command.empty();
  const Json& container = Among(At(At(pod, "spec"), "containers"), "name", ContainerName(role));
  const std::string image = TextAt(container, "image");
  if (terminated.is_object()) {
    process.started_at = TimeAt(terminated, "startedAt").value_or(process.started_at);
    const bool is_own = At(state, "terminated").is_object();
    ReadEnd(status, terminated, is_own_program, is_own ? image : "", process);
    process.is_outlived = phase == "Running";
    process.memory_limit = TextAt(At(At(container, "resources"), "limits"), "memory");
  } else if (phase == "Failed" || phase == "Succeeded") {
    ReadEnd(status, Nothing(), is_own_program, image, process);
  } else if (running.is_object() && phase == "Running") {
    process.state = ProcessState::kRunning;
    process.is_ready = TextAt(ConditionAt(status, "Ready"), "status") != "False";
  } else {
    ReadWaiting(status, ContainerName(role), image, process);
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
      "/metadata/deletionGracePeriodSeconds",
      "/metadata/labels/paceline.dev~1job",
      "/metadata/labels/paceline.dev~1role",
      "/metadata/labels/paceline.dev~1group",
      "/metadata/labels/paceline.dev~1index",
      "/metadata/annotations/paceline.dev~1attempt",
      "/metadata/annotations/paceline.dev~1failures",
      "/metadata/annotations/paceline.dev~1unfit",
      "/metadata/annotations/paceline.dev~1disruptions",
      "/metadata/annotations/paceline.dev~1generation-start",
      "/metadata/ownerReferences/uid",
      "/metadata/ownerReferences/kind",
      "/metadata/ownerReferences/controller",
      "/spec/nodeName",
      "/spec/containers/name",
      "/spec/containers/image",
      "/spec/containers/image",
      "/spec/containers/resources/limits/memory",
      "/status/phase",
      "/status/reason",
      "/status/message",
      "/status/podIP",
      "/status/nominatedNodeName",
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
  const std::string address = TextAt(At(pod, "status"), "podIP");
  if (address.empty()) return std::nullopt;
  return address;
}

}  // namespace paceline::controller
