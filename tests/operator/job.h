// A TrainingJob in a cluster without nodes: the test says what a kubelet would.
#pragma once

#include <string>

#include "tests/operator/world.h"
#include "tests/support/training_job.h"

namespace paceline::operator_test {

using kube::Json;

// 2 parameter servers, 3 workers, mtls enabled.
Json SmallSpec();

class Job : public testing::TrainingJob {
 public:
  // In a namespace of its own. `spec` is merged into SmallSpec.
  Job(World& world, const std::string& name, const Json& spec = Json::object());

  void Run(const std::string& pod) const;
  void RunAll() const;                           // All that are pending.
  void HasNoRoom(const std::string& pod) const;  // As a scheduler says it.
  void Target(const std::string& pod) const;     // As who is about to evict it says it.
  void NotAdmit(const std::string& pod) const;   // As a kubelet that has no room after all.
  void End(const std::string& pod, int code, const std::string& message = "",
           const std::string& reason = "Error") const;
  // Its own container has; a sidecar runs on.
  void EndBesideSidecar(const std::string& pod, int code) const;

 private:
  void PatchPodStatus(const std::string& pod, const Json& status) const;
};

// A claim that nothing binds: of 1 GiB, with that access mode.
void MakeClaim(World& world, const std::string& name_space, const std::string& name,
               const std::string& access_mode);

}  // namespace paceline::operator_test
