#include "tests/support/training_job.h"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"

namespace paceline::testing {

using controller::TrainingJobs;

void TrainingJob::Create(const Json& spec) const {
  const Json job = {{"apiVersion", "paceline.dev/v1alpha1"},
                    {"kind", "TrainingJob"},
                    {"metadata", {{"name", name()}, {"namespace", name_space()}}},
                    {"spec", spec}};
  const Status made = client_.Call(kube::Create(TrainingJobs(), job)).status();
  EXPECT_TRUE(made.ok()) << made.message();
}

Json TrainingJob::Get() const {
  const StatusOr<Json> job = client_.Call(kube::Get(TrainingJobs(), key_));
  return job.ok() ? *job : Json();
}

void TrainingJob::Patch(const Json& patch) const {
  const Status status = client_.Call(kube::MergePatch(TrainingJobs(), key_, patch)).status();
  EXPECT_TRUE(status.ok()) << status.message();
}

void TrainingJob::Delete() const {
  const Status status = client_.Call(kube::Delete(TrainingJobs(), key_)).status();
  EXPECT_TRUE(status.ok()) << status.message();
}

std::string TrainingJob::ConditionField(const std::string& type, const std::string& field) const {
  const Json job = Get();
  const Json* conditions = kube::Find(job, "/status/conditions");
  if (conditions == nullptr) return "";
  for (const Json& condition : *conditions) {
    if (condition["type"] == type) return condition.value(field, "");
  }
  return "";
}

std::string TrainingJob::Condition(const std::string& type) const {
  return ConditionField(type, "status");
}

std::string TrainingJob::Message(const std::string& type) const {
  return ConditionField(type, "message");
}

bool TrainingJob::Wait(const std::function<bool()>& is_so, const std::string& what,
                       double timeout_seconds) const {
  const bool came = Eventually(is_so, timeout_seconds);
  if (!came) std::cout << "waited in vain for " << what << "\n" << Describe();
  return came;
}

bool TrainingJob::WaitForCondition(const std::string& type, const std::string& status,
                                   double timeout_seconds) const {
  return Wait([&] { return Condition(type) == status; }, type + "=" + status, timeout_seconds);
}

bool TrainingJob::WaitForMessage(const std::string& type, const std::string& part,
                                 double timeout_seconds) const {
  return Wait([&] { return Message(type).find(part) != std::string::npos; },
              fmt::format("'{}' in the message of {}", part, type), timeout_seconds);
}

bool TrainingJob::WaitForStep(int64_t step, double timeout_seconds) const {
  return Wait([&] { return kube::IntegerAt(Get(), "/status/progress/step") >= step; },
              fmt::format("step {}", step), timeout_seconds);
}

bool TrainingJob::WaitForPods(const std::vector<std::string>& names, double timeout_seconds) const {
  const auto are_there = [&] {
    const auto pods = Pods();
    return pods.size() == names.size() &&
           std::all_of(names.begin(), names.end(),
                       [&](const std::string& name) { return pods.contains(name); });
  };
  return Wait(are_there, fmt::format("{} pods", names.size()), timeout_seconds);
}

std::map<std::string, Json> TrainingJob::Pods() const {
  std::map<std::string, Json> pods;
  const auto list = client_.ListAll(
      kube::Pods(), {.name_space = name_space(), .label_selector = "paceline.dev/job=" + name()});
  EXPECT_TRUE(list.ok()) << list.status().message();
  if (!list.ok()) return pods;
  for (const Json& pod : list->items) pods[kube::Name(pod)] = pod;
  return pods;
}

std::vector<std::string> TrainingJob::AllPodNames() const {
  const Json job = Get();
  std::vector<std::string> names;
  for (int64_t i = 0; i < kube::IntegerAt(job, "/spec/parameterServer/shards"); ++i)
    names.push_back(fmt::format("{}-ps-{}", name(), i));
  for (int64_t i = 0; i < kube::IntegerAt(job, "/spec/workers/replicas"); ++i)
    names.push_back(fmt::format("{}-worker-{}", name(), i));
  return names;
}

std::string TrainingJob::Describe() const {
  const Json job = Get();
  const Json* status = kube::Find(job, "/status");
  return (status != nullptr ? status->dump(2) : "no status") + "\n" +
         kubectl_("get pods -o wide -n " + name_space()) +
         kubectl_("get events -n " + name_space());
}

}  // namespace paceline::testing
