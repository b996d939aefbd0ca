#include <iostream>

#include "operator/controller/resources.h"
#include "tests/bench/operator_contender.h"
#include "tests/operator/job.h"

namespace paceline::bench {
namespace {

using kube::Json;
using operator_test::OperatorProcess;

class Paceline : public Contender {
 public:
  explicit Paceline(operator_test::World& world) : process_(world, {}) {}

  bool Leads() const { return process_.WaitForText("leading"); }
  std::string name() const override { return "paceline"; }
  pid_t pid() const override { return process_.pid(); }
  std::string user() const override { return "paceline-operator"; }
  kube::Resource resource() const override { return controller::TrainingJobs(); }
  std::string Log() const override { return process_.Log(); }

  Json Manifest(const JobShape& shape) const override {
    Json spec = operator_test::SmallSpec();
    spec["parameterServer"]["shards"] = kServers;
    spec["workers"] = {{"replicas", shape.workers}};
    spec["training"]["globalBatchSize"] = shape.workers * 8;
    if (shape.is_suspended) spec["runPolicy"]["suspend"] = true;
    return {{"apiVersion", "paceline.dev/v1alpha1"},
            {"kind", "TrainingJob"},
            {"metadata", {{"name", shape.name}}},
            {"spec", spec}};
  }

  Json LeftAlone(Json job) const override {
    job["spec"]["runPolicy"]["managedBy"] = "paceline.dev/bench";
    return job;
  }

 private:
  OperatorProcess process_;
};

}  // namespace

std::unique_ptr<Contender> StartPaceline(operator_test::World& world) {
  auto started = std::make_unique<Paceline>(world);
  if (started->Leads()) return started;
  std::cerr << started->Log();
  return nullptr;
}

}  // namespace paceline::bench
