#include "operator/objects/seen/pod_end.h"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"

namespace paceline::controller {
namespace {

struct Sample {
  std::string rule;
  Json status;
  Json terminated;
};

Json Failed(const std::string& reason, const std::string& message = "") {
  return {{"phase", "Failed"}, {"reason", reason}, {"message", message}};
}

Json Targeted(Json status, const std::string& reason) {
  status["conditions"] =
      Json::array({{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", reason}}});
  return status;
}

Json Exit(int code, const std::string& reason = "Error") {
  return {{"exitCode", code}, {"reason", reason}};
}

Json Saying(const std::string& message, Json terminated) {
  terminated["message"] = message;
  return terminated;
}

// Statuses as clusters write them, with the words of their kubelets.
std::vector<Sample> Samples() {
  const Json failed = {{"phase", "Failed"}};
  const Json running = {{"phase", "Running"}};
  return {
      {"OutOfMemory", running, Exit(137, "OOMKilled")},
      {"OutOfMemory", Targeted(failed, "TerminationByKubelet"), Exit(137, "OOMKilled")},
      {"Well", running, Exit(0, "Completed")},
      {"Well", Targeted(running, "EvictionByEvictionAPI"), Exit(0, "Completed")},
      {"Well", {{"phase", "Succeeded"}}, nullptr},
      {"OwnStorage",
       Failed("Evicted",
              "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. "),
       Exit(137)},
      {"OwnStorage",
       Failed("Evicted", "Container worker exceeded its local ephemeral storage limit \"1Gi\". "),
       nullptr},
      {"OwnStorage",
       Failed("Evicted", "Usage of EmptyDir volume \"scratch\" exceeds the limit \"1Gi\". "),
       Exit(143)},
      {"OwnDeadline",
       Failed("DeadlineExceeded", "Pod was active on the node longer than the specified deadline"),
       Exit(143)},
      {"DisruptionTarget",
       Targeted(Failed("Evicted",
                       "The node was low on resource: memory. Threshold quantity: "
                       "100Mi, available: 90Mi. Container worker was using 2Gi"),
                "TerminationByKubelet"),
       Exit(137)},
      {"DisruptionTarget", Targeted(running, "PreemptionByScheduler"), Exit(143)},
      {"DisruptionTarget", Targeted(running, "EvictionByEvictionAPI"), Exit(143)},
      {"DisruptionTarget", Targeted(running, "EvictionByEvictionAPI"), Exit(1)},
      {"DisruptionTarget", Targeted(running, "DeletionByTaintManager"), Exit(137)},
      {"DisruptionTarget", Targeted(failed, "DeletionByPodGC"), nullptr},
      {"DisruptionTarget",
       Targeted(Failed("Terminated", "Pod was terminated in response to imminent node shutdown."),
                "TerminationByKubelet"),
       Exit(143)},
      {"TakenAway", Failed("Evicted", "The node was low on resource: ephemeral-storage. "),
       Exit(137)},
      {"TakenAway", Failed("Preempting", "Preempted in order to admit critical pod"), nullptr},
      {"TakenAway", Failed("NodeLost"), nullptr},
      {"TakenAway", Failed("NodeShutdown", "Pod was rejected as the node is shutting down."),
       nullptr},
      {"TakenAway", Failed("Shutdown", "Node is shutting, evicting pods"), Exit(143)},
      {"TakenAway", Failed("Terminated"), Exit(143)},
      {"NotAdmitted",
       Failed("OutOfcpu",
              "Pod was rejected: Node didn't have enough resource: cpu, requested: "
              "4000, used: 1000, capacity: 4000"),
       nullptr},
      {"NotAdmitted", Failed("OutOfmemory"), nullptr},
      {"NotAdmitted", Failed("OutOfpods"), nullptr},
      {"NotAdmitted", Failed("OutOfnvidia.com/gpu"), nullptr},
      {"NotAdmitted",
       Failed(
           "UnexpectedAdmissionError",
           "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate "
           "unhealthy devices nvidia.com/gpu, which is unexpected"),
       nullptr},
      {"NotAdmitted",
       Failed("TopologyAffinityError",
              "Pod was rejected: Resources cannot be allocated with Topology locality"),
       nullptr},
      {"NotAdmitted", Failed("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed"),
       nullptr},
      {"NotAdmitted", Failed("NodeName"), nullptr},
      {"NotAdmitted", Failed("NodePorts"), nullptr},
      {"OutOfSight", failed, Exit(137, "ContainerStatusUnknown")},
      {"OutOfSight", running, Exit(255, "Unknown")},
      {"ForeignProgram", failed,
       Saying("exec /usr/local/bin/worker: exec format error", Exit(255))},
      {"ForeignProgram", failed,
       Saying("standard_init_linux.go:228: exec user process caused: exec format error\n",
              Exit(1))},
      {"ForeignProgram", failed,
       Saying("standard_init_linux.go:211: exec user process caused \"exec format error\"",
              Exit(1))},
      {"ForeignProgram", failed,
       Saying("{\"msg\":\"exec container process `/app`: Exec format error\",\"level\":\"error\"}",
              Exit(1))},
      {"ForeignProgram", failed, Saying("sh: 1: ./train: Exec format error", Exit(126))},
      {"ForeignProgram", failed,
       Saying("failed to create containerd task: failed to start:\n exec /app: exec format error: "
              "unknown",
              Exit(128, "StartError"))},
      {"Failed", failed,
       Saying("Traceback (most recent call last):\n  File \"train.py\"\nOSError: [Errno 8] Exec "
              "format error: './tool'",
              Exit(1))},
      {"Failed", failed, Saying("exec /app: permission denied", Exit(126))},
      {"Failed", failed, Saying("exec /app: no such file or directory", Exit(128, "StartError"))},
      {"Well", failed, Saying("exec format error", Exit(0))},
      {"DisruptionTarget", Targeted(failed, "EvictionByEvictionAPI"),
       Saying("exec /app: exec format error", Exit(255))},
      {"Failed", running, Exit(137)},  // A failed liveness probe, or a kill -9.
      {"Failed", running, Exit(143)},
      {"Failed", running, Exit(139)},
      {"Failed", running, Exit(1)},
      {"Failed", running, Exit(128, "StartError")},
      {"Failed", running, Exit(255)},
      {"Failed", failed, nullptr},
      {"Failed", Failed("SysctlForbidden"), nullptr},  // The template's own fault, on each node.
      {"Failed", Failed("OutOfcpu"), Exit(1)},
      {"Failed", Json("text"), Json(3)},
  };
}

TEST(PodEnd, IsTheFirstRuleThatHolds) {
  std::set<std::string_view> met;
  for (const Sample& sample : Samples()) {
    const EndRule& rule = HowItEnded(sample.status, sample.terminated);
    EXPECT_EQ(rule.name, sample.rule) << sample.status << ' ' << sample.terminated;
    met.insert(rule.name);
  }
  for (const EndRule& rule : EndRules()) EXPECT_TRUE(met.contains(rule.name)) << rule.name;
}

// A condition that says False says nothing.
TEST(PodEnd, OnlyAConditionThatHoldsCounts) {
  Json status = Targeted({{"phase", "Running"}}, "PreemptionByScheduler");
  status["conditions"][0]["status"] = "False";
  EXPECT_EQ(HowItEnded(status, Exit(143)).name, "Failed");
}

TEST(PodEnd, DocumentsHaveTheRulesInTheirOrder) {
  constexpr const char* kWords[] = {"neither", "failure", "disruption", "exit code 3"};
  std::string rows = "| a pod that ended with | counts as |\n|---|---|\n";
  for (const EndRule& rule : EndRules())
    rows += fmt::format("| {} | {} |\n", rule.when, kWords[static_cast<int>(rule.kind)]);
  std::ifstream file(InSource("docs/conditions.md"));
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_THAT(page.str(), ::testing::HasSubstr(rows));
}

}  // namespace
}  // namespace paceline::controller
