// A TrainingJob in a cluster, as a test makes, changes and looks at it through the API.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lib/base/testing/eventually.h"
#include "lib/kube/client/client.h"

namespace paceline::testing {

using kube::Json;

class TrainingJob {
 public:
  // Of an object that is there or will be. `client` outlives this; `kubectl` runs it with
  // arguments.
  TrainingJob(kube::Client& client, std::function<std::string(const std::string&)> kubectl,
              kube::ObjectKey key)
      : client_(client), kubectl_(std::move(kubectl)), key_(std::move(key)) {}

  const std::string& name() const { return key_.name; }
  const std::string& name_space() const { return key_.name_space; }
  const kube::ObjectKey& key() const { return key_; }

  void Create(const Json& spec) const;
  Json Get() const;  // Null if it is gone.
  void Patch(const Json& patch) const;
  void Delete() const;

  // "True", "False", "Unknown", or "" if there is no such condition.
  std::string Condition(const std::string& type) const;
  std::string Message(const std::string& type) const;
  // These print the job and its events where they wait in vain.
  bool WaitForCondition(const std::string& type, const std::string& status = "True",
                        double timeout_seconds = 30) const;
  bool WaitForMessage(const std::string& type, const std::string& part,
                      double timeout_seconds = 30) const;
  bool WaitForStep(int64_t step, double timeout_seconds = 120) const;
  bool WaitForPods(const std::vector<std::string>& names, double timeout_seconds = 30) const;

  std::map<std::string, Json> Pods() const;      // By name.
  std::vector<std::string> AllPodNames() const;  // As the spec wants them, without the evaluator.
  std::string Describe() const;

 protected:
  kube::Client& client_;

 private:
  bool Wait(const std::function<bool()>& is_so, const std::string& what,
            double timeout_seconds) const;
  std::string ConditionField(const std::string& type, const std::string& field) const;

  const std::function<std::string(const std::string&)> kubectl_;
  const kube::ObjectKey key_;
};

}  // namespace paceline::testing
