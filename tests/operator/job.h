// One TrainingJob of a test: made, changed and looked at through the API.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/operator/world.h"

namespace paceline::operator_test {

class Job {
 public:
  // In a namespace of its own. `spec` is merged into a small valid one: 2 parameter servers, 3
  // workers, mtls enabled.
  Job(World& world, const std::string& name, const Json& spec = Json::object());

  const std::string& name() const { return name_; }
  const std::string& name_space() const { return name_space_; }
  kube::ObjectKey key() const { return {name_space_, name_}; }

  Json Get() const;  // Null if it is gone.
  void Patch(const Json& patch) const;
  void Delete() const;
  // "True", "False", "Unknown", or "" if there is no such condition.
  std::string Condition(const std::string& type) const;
  std::string Message(const std::string& type) const;
  bool WaitForCondition(const std::string& type, const std::string& status = "True",
                        double timeout_seconds = 60) const;

  std::map<std::string, Json> Pods() const;  // By name.
  bool WaitForPods(const std::vector<std::string>& names, double timeout_seconds = 60) const;
  std::vector<std::string> AllPodNames() const;  // As the spec wants them.

  // What a kubelet would say.
  void Run(const std::string& pod) const;
  void RunAll() const;  // All that are pending.
  void End(const std::string& pod, int code, const std::string& message = "",
           const std::string& reason = "Error") const;

  std::string Describe() const;  // For failures: status and events.

 private:
  void PatchPodStatus(const std::string& pod, const Json& status) const;

  World& world_;
  std::string name_;
  std::string name_space_;
};

}  // namespace paceline::operator_test
