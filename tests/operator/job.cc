#include "tests/operator/job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/base/rfc3339.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/clock.h"

namespace paceline::operator_test {
Json SmallSpec() {
  return Json::parse(R"({
    "model": {"torchScript": "cnn.pt", "loss": "CrossEntropy"},
    "data": {"train": "train.safetensors"},
    "training": {"globalBatchSize": 64, "optimizer": {"type": "SGD"},
                 "learningRate": {"base": 0.1}, "stop": {"maxEpochs": 1}},
    "parameterServer": {"shards": 2},
    "workers": {"replicas": 3}
  })");
}

Job::Job(World& world, const std::string& name, const Json& spec)
    : TrainingJob(world.client(),
                  [&world](const std::string& arguments) { return world.Kubectl(arguments); },
                  {world.NewNamespace(), name}) {
  Json merged = SmallSpec();
  merged.merge_patch(spec);
  Create(merged);
}

void Job::Run(const std::string& pod) const {
  const std::string container = pod.find("-ps-") != std::string::npos ? "ps" : "worker";
  const std::string now = FormatTime(controller::WallNow());
  PatchPodStatus(pod, {{"phase", "Running"},
                       {"podIP", "127.0.0.1"},
                       {"startTime", now},
                       {"containerStatuses",
                        Json::array({{{"name", container},
                                      {"image", "x"},
                                      {"imageID", "x"},
                                      {"ready", true},
                                      {"restartCount", 0},
                                      {"state", {{"running", {{"startedAt", now}}}}}}})}});
}

void Job::RunAll() const {
  for (const auto& [name, pod] : Pods()) {
    if (kube::StringAt(pod, "/status/phase") == "Pending" && !kube::IsBeingDeleted(pod)) Run(name);
  }
}

void Job::HasNoRoom(const std::string& pod) const {
  PatchPodStatus(pod, {{"conditions", Json::array({{{"type", "PodScheduled"},
                                                    {"status", "False"},
                                                    {"reason", "Unschedulable"},
                                                    {"message", "0/3 nodes are available"}}})}});
}

void Job::Target(const std::string& pod) const {
  PatchPodStatus(pod, {{"conditions", Json::array({{{"type", "DisruptionTarget"},
                                                    {"status", "True"},
                                                    {"reason", "EvictionByEvictionAPI"}}})}});
}

void Job::NotAdmit(const std::string& pod) const {
  PatchPodStatus(pod, {{"phase", "Failed"},
                       {"reason", "OutOfcpu"},
                       {"message", "Pod was rejected: Node didn't have enough resource: cpu"}});
}

namespace {

Json EndedContainer(const std::string& pod, int code, const std::string& message,
                    const std::string& reason) {
  return {{"name", pod.find("-ps-") != std::string::npos ? "ps" : "worker"},
          {"image", "x"},
          {"imageID", "x"},
          {"ready", false},
          {"restartCount", 0},
          {"state",
           {{"terminated",
             {{"exitCode", code},
              {"reason", code == 0 ? "Completed" : reason},
              {"message", message},
              {"startedAt", "2026-01-31T09:30:00Z"},
              {"finishedAt", "2026-01-31T09:30:01Z"}}}}}};
}

}  // namespace

void Job::End(const std::string& pod, int code, const std::string& message,
              const std::string& reason) const {
  PatchPodStatus(
      pod, {{"phase", code == 0 ? "Succeeded" : "Failed"},
            {"containerStatuses", Json::array({EndedContainer(pod, code, message, reason)})}});
}

void Job::EndBesideSidecar(const std::string& pod, int code) const {
  const Json sidecar = {
      {"name", "mesh"},    {"image", "x"},
      {"imageID", "x"},    {"ready", true},
      {"restartCount", 0}, {"state", {{"running", {{"startedAt", "2026-01-31T09:30:00Z"}}}}}};
  PatchPodStatus(
      pod, {{"phase", "Running"},
            {"containerStatuses", Json::array({sidecar, EndedContainer(pod, code, "", "Error")})}});
}

void Job::PatchPodStatus(const std::string& pod, const Json& status) const {
  const Status patched =
      client_
          .Call(kube::MergePatch(kube::Pods(), {name_space(), pod}, {{"status", status}},
                                 {.subresource = "status"}))
          .status();
  EXPECT_TRUE(patched.ok()) << pod << ": " << patched.message();
}

void MakeClaim(World& world, const std::string& name_space, const std::string& name,
               const std::string& access_mode) {
  const Json claim = {
      {"metadata", {{"name", name}, {"namespace", name_space}}},
      {"spec",
       {{"accessModes", {access_mode}}, {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}};
  const auto made = world.client().Call(kube::Create(kube::PersistentVolumeClaims(), claim));
  EXPECT_TRUE(made.ok()) << made.status();
}

}  // namespace paceline::operator_test
