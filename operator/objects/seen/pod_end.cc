#include "operator/objects/seen/pod_end.h"

#include <algorithm>
#include <string>

#include "operator/objects/json_at.h"
#include "operator/objects/seen/foreign_program.h"

namespace paceline::controller {
namespace {

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool IsOutOfMemory(const Json&, const Json& terminated) {
  return TextAt(terminated, "reason") == "OOMKilled";
}

bool IsWell(const Json& status, const Json& terminated) {
  return terminated.is_object() ? NumberAt(terminated, "exitCode") == 0
                                : TextAt(status, "phase") == "Succeeded";
}

bool IsTargeted(const Json& status, const Json&) {
  return TextAt(ConditionAt(status, "DisruptionTarget"), "status") == "True";
}

// The kubelet marks evictions for the node's sake with DisruptionTarget and these with nothing.
bool HasOwnStorageEvicted(const Json& status, const Json& terminated) {
  if (TextAt(status, "reason") != "Evicted" || IsTargeted(status, terminated)) return false;
  const std::string message = TextAt(status, "message");
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"ephemeral local storage usage exceeds",
                                              "local ephemeral storage limit",
                                              "Usage of EmptyDir volume"},
      [&](std::string_view words) { return message.find(words) != std::string::npos; });
}

bool HasOwnDeadline(const Json& status, const Json&) {
  return TextAt(status, "reason") == "DeadlineExceeded";
}

// What clusters say that know no DisruptionTarget.
bool IsTakenAway(const Json& status, const Json&) {
  return IsOneOf(TextAt(status, "reason"),
                 {"Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated"});
}

// The scheduler and the kubelet did not agree; another node, or a later moment, may do.
bool IsNotAdmitted(const Json& status, const Json& terminated) {
  if (terminated.is_object() || TextAt(status, "phase") != "Failed") return false;
  const std::string reason = TextAt(status, "reason");
  return reason.starts_with("OutOf") ||
         IsOneOf(reason, {"UnexpectedAdmissionError", "TopologyAffinityError", "NodeAffinity",
                          "NodeName", "NodePorts"});
}

// The machine was switched off and on, or its runtime was: nobody saw how the container ended.
bool IsOutOfSight(const Json&, const Json& terminated) {
  const std::string reason = TextAt(terminated, "reason");
  return reason == "ContainerStatusUnknown" ||
         (reason == "Unknown" && NumberAt(terminated, "exitCode") == 255);
}

bool Always(const Json&, const Json&) { return true; }

constexpr EndRule kRules[] = {
    {"OutOfMemory", "its container used more memory than its limit (`OOMKilled`)",
     EndKind::kFailure, IsOutOfMemory},
    {"Well", "exit code 0", EndKind::kWell, IsWell},
    {"OwnStorage",
     "`Evicted` for more storage than the pod itself may use (its limit, or that of an emptyDir)",
     EndKind::kFailure, HasOwnStorageEvicted},
    {"OwnDeadline", "`DeadlineExceeded`: the pod template's own `activeDeadlineSeconds`",
     EndKind::kFailure, HasOwnDeadline},
    {"DisruptionTarget",
     "condition `DisruptionTarget`: preempted, evicted by the API (`kubectl drain`) or for the "
     "node's sake, its node lost, drained or shut down; whatever the exit code",
     EndKind::kDisruption, IsTargeted},
    {"TakenAway",
     "reason `Evicted`, `Preempting`, `NodeLost`, `NodeShutdown`, `Shutdown` or `Terminated`",
     EndKind::kDisruption, IsTakenAway},
    {"NotAdmitted",
     "refused by the kubelet before it began: `OutOfcpu` and any `OutOf<resource>`, "
     "`UnexpectedAdmissionError`, `TopologyAffinityError`, `NodeAffinity`, `NodeName`, `NodePorts`",
     EndKind::kDisruption, IsNotAdmitted},
    {"OutOfSight",
     "`ContainerStatusUnknown`, or `Unknown` with exit code 255: the machine or its container "
     "runtime went down with it",
     EndKind::kDisruption, IsOutOfSight},
    {"ForeignProgram",
     "nothing but `exec format error` (or `StartError` with it): its image is for machines of "
     "another architecture, or its command is a script without `#!`",
     EndKind::kUnfit,
     [](const Json&, const Json& terminated) { return IsForeignProgram(terminated); }},
    {"Failed",
     "any other exit code; 137 and 143 too, as after a failed liveness probe or a kill by hand",
     EndKind::kFailure, Always},
};

}  // namespace

std::span<const EndRule> EndRules() { return kRules; }

const EndRule& HowItEnded(const Json& status, const Json& terminated) {
  return *std::ranges::find_if(kRules,
                               [&](const EndRule& rule) { return rule.holds(status, terminated); });
}

}  // namespace paceline::controller
