// Defines PodChanges: makes a job's pods be as a plan says.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "lib/job/plan.h"
#include "lib/job/training_job.h"
#include "lib/kube/client/client.h"
#include "lib/kube/runtime/expectations.h"
#include "lib/kube/runtime/informer.h"
#include "operator/controller/job_memory.h"
#include "operator/objects/options.h"

namespace paceline::controller {

// Thread-safe.
class PodChanges {
 public:
  // All outlive this.
  PodChanges(kube::Client* client, kube::Expectations* expectations, Tombstones* tombstones,
             ObjectOptions options);

  // Deletes and creates, side by side. The first error; what could be done is done. An error of
  // FailedPrecondition names a pod that is there and belongs to somebody else. `refused` becomes
  // the names of the pods that are surely not made because the API server said no.
  Status Apply(const job::TrainingJob& job, const std::vector<job::Action>& actions,
               const std::vector<kube::ObjectPtr>& pods, std::set<std::string>& refused) const;

 private:
  Status DeleteAll(const job::TrainingJob& job, const std::vector<job::Action>& actions,
                   const std::vector<kube::ObjectPtr>& pods) const;
  Status CreateAll(const job::TrainingJob& job, const std::vector<job::Action>& actions,
                   std::set<std::string>& refused) const;
  Status CheckOwner(const job::TrainingJob& job, const kube::ObjectKey& pod) const;

  kube::Client* const client_;
  kube::Expectations* const expectations_;
  Tombstones* const tombstones_;
  const ObjectOptions options_;
};

}  // namespace paceline::controller
