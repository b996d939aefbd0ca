#include "tests/operator/job.h"

#include <fmt/format.h>

#include "lib/kube/core/api_error.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"

namespace paceline::operator_test {
namespace {

using controller::TrainingJobs;

Json SmallSpec() {
  return Json::parse(R"({
    "model": {"builtIn": "Mlp", "loss": "CrossEntropy"},
    "data": {"train": "train.safetensors"},
    "training": {"globalBatchSize": 12, "optimizer": {"type": "SGD"},
                 "learningRate": {"base": 0.1}, "stop": {"maxEpochs": 1}},
    "parameterServer": {"shards": 2},
    "workers": {"replicas": 3}
  })");
}

}  // namespace

Job::Job(World& world, const std::string& name, const Json& spec)
    : world_(world), name_(name), name_space_(world.NewNamespace()) {
  Json job = {{"apiVersion", "paceline.dev/v1alpha1"},
              {"kind", "TrainingJob"},
              {"metadata", {{"name", name}, {"namespace", name_space_}}},
              {"spec", SmallSpec()}};
  job["spec"].merge_patch(spec);
  const Status made = world_.client().Call(kube::Create(TrainingJobs(), job)).status();
  EXPECT_TRUE(made.ok()) << made.message();
}

Json Job::Get() const {
  const StatusOr<Json> job = world_.client().Call(kube::Get(TrainingJobs(), key()));
  return job.ok() ? *job : Json();
}

void Job::Patch(const Json& patch) const {
  const Status status =
      world_.client().Call(kube::MergePatch(TrainingJobs(), key(), patch)).status();
  EXPECT_TRUE(status.ok()) << status.message();
}

void Job::Delete() const {
  const Status status = world_.client().Call(kube::Delete(TrainingJobs(), key())).status();
  EXPECT_TRUE(status.ok()) << status.message();
}

std::string Job::Condition(const std::string& type) const {
  const Json job = Get();
  const Json* conditions = kube::Find(job, "/status/conditions");
  if (conditions == nullptr) return "";
  for (const Json& condition : *conditions) {
    if (condition["type"] == type) return condition["status"];
  }
  return "";
}

std::string Job::Message(const std::string& type) const {
  const Json job = Get();
  const Json* conditions = kube::Find(job, "/status/conditions");
  if (conditions == nullptr) return "";
  for (const Json& condition : *conditions) {
    if (condition["type"] == type) return condition.value("message", "");
  }
  return "";
}

bool Job::WaitForCondition(const std::string& type, const std::string& status,
                           double timeout_seconds) const {
  const bool came = Eventually([&] { return Condition(type) == status; }, timeout_seconds);
  if (!came) std::cout << type << " did not become " << status << "\n" << Describe();
  return came;
}

std::map<std::string, Json> Job::Pods() const {
  std::map<std::string, Json> pods;
  const auto list = world_.client().ListAll(kube::Pods(), {.name_space = name_space_});
  EXPECT_TRUE(list.ok()) << list.status().message();
  if (!list.ok()) return pods;
  for (const Json& pod : list->items) {
    if (kube::Label(pod, "paceline.dev/job") == name_) pods[kube::Name(pod)] = pod;
  }
  return pods;
}

bool Job::WaitForPods(const std::vector<std::string>& names, double timeout_seconds) const {
  const bool came = Eventually(
      [&] {
        const auto pods = Pods();
        return pods.size() == names.size() &&
               std::all_of(names.begin(), names.end(),
                           [&](const std::string& name) { return pods.contains(name); });
      },
      timeout_seconds);
  if (!came) {
    std::cout << "pods:";
    for (const auto& [name, pod] : Pods()) std::cout << " " << name;
    std::cout << "\n" << Describe();
  }
  return came;
}

std::vector<std::string> Job::AllPodNames() const {
  const Json job = Get();
  std::vector<std::string> names;
  for (int64_t i = 0; i < kube::IntegerAt(job, "/spec/parameterServer/shards"); ++i)
    names.push_back(fmt::format("{}-ps-{}", name_, i));
  for (int64_t i = 0; i < kube::IntegerAt(job, "/spec/workers/replicas"); ++i)
    names.push_back(fmt::format("{}-worker-{}", name_, i));
  return names;
}

void Job::Run(const std::string& pod) const {
  const std::string container = pod.find("-ps-") != std::string::npos ? "ps" : "worker";
  PatchPodStatus(
      pod, {{"phase", "Running"},
            {"podIP", "127.0.0.1"},
            {"startTime", "2026-01-31T09:30:00Z"},
            {"containerStatuses",
             Json::array({{{"name", container},
                           {"image", "x"},
                           {"imageID", "x"},
                           {"ready", true},
                           {"restartCount", 0},
                           {"state", {{"running", {{"startedAt", "2026-01-31T09:30:00Z"}}}}}}})}});
}

void Job::RunAll() const {
  for (const auto& [name, pod] : Pods()) {
    if (kube::StringAt(pod, "/status/phase") == "Pending" && !kube::IsBeingDeleted(pod)) Run(name);
  }
}

void Job::End(const std::string& pod, int code, const std::string& message,
              const std::string& reason) const {
  const std::string container = pod.find("-ps-") != std::string::npos ? "ps" : "worker";
  PatchPodStatus(pod, {{"phase", code == 0 ? "Succeeded" : "Failed"},
                       {"containerStatuses",
                        Json::array({{{"name", container},
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
                                          {"finishedAt", "2026-01-31T09:30:01Z"}}}}}}})}});
}

void Job::PatchPodStatus(const std::string& pod, const Json& status) const {
  const Status patched =
      world_.client()
          .Call(kube::MergePatch(kube::Pods(), {name_space_, pod}, {{"status", status}},
                                 {.subresource = "status"}))
          .status();
  EXPECT_TRUE(patched.ok()) << pod << ": " << patched.message();
}

std::string Job::Describe() const {
  return Get()["status"].dump(2) + "\n" +
         world_.Kubectl(fmt::format("get events -n {} --sort-by=.lastTimestamp", name_space_));
}

}  // namespace paceline::operator_test
