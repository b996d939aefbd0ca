// Defines Contender: an operator as a process, and the jobs that it is given.
#pragma once

#include <memory>
#include <string>

#include "lib/base/status.h"
#include "tests/operator/world.h"

namespace paceline::bench {

// What a job of the bench looks like: so many workers, and two parameter servers beside them.
struct JobShape {
  std::string name;
  int workers = 0;
  bool is_suspended = false;
};
constexpr int kServers = 2;

class Contender {
 public:
  virtual ~Contender() = default;

  virtual std::string name() const = 0;
  virtual pid_t pid() const = 0;
  virtual std::string user() const = 0;  // As the audit log names it, or a part of that.
  virtual kube::Resource resource() const = 0;
  virtual kube::Json Manifest(const JobShape& shape) const = 0;
  // The job, changed so that the operator lets it lie. Null: there is no way to say so.
  virtual kube::Json LeftAlone(kube::Json job) const = 0;
  virtual std::string Log() const = 0;
};

// Paceline's, as it is deployed: with leader election, as its own service account. Null if it does
// not come to work; its log is printed then.
std::unique_ptr<Contender> StartPaceline(operator_test::World& world);

// Kubeflow's training-operator with its TFJobs, as a user whom the server allows everything.
// NotFound without its program or the manifests of its Go module.
StatusOr<std::unique_ptr<Contender>> StartTrainingOperator(operator_test::World& world);

}  // namespace paceline::bench
