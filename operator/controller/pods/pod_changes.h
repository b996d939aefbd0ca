// Defines PodChanges: makes a job's pods be as a plan says.
#pragma once

#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/job/plan/plan.h"
#include "lib/kube/client/client.h"
#include "lib/kube/runtime/informer.h"
#include "operator/controller/job_record.h"
#include "operator/objects/defaults/pod_defaults.h"
#include "operator/objects/options.h"

namespace paceline::controller {

// Thread-safe; holds nothing of a job.
class PodChanges {
 public:
  // `client` outlives this.
  PodChanges(kube::Client* client, ObjectOptions options);

  // Asks the API server about the first pod that is to be started of each role that has a template,
  // by the manifest or by its defaults, without making any. What it says of one that could never be
  // made, OK otherwise: what depends on the hour (quota, admission by others, no answer) is for
  // Apply to meet.
  Status TryTemplates(const job::TrainingJob& job, const std::vector<job::Action>& actions,
                      const PodDefaults& defaults) const;

  // `job` has its defaults in its templates, and its record has them too. Deletes and creates, side
  // by side, and notes in the record what the view is to show of it. The
  // first error; what could be done is done. An error of FailedPrecondition names a pod that is
  // there and belongs to somebody else, Aborted one that is about to go, or that is the job's and
  // that the view does not show: the record has it from then on. The record's `refused` has the
  // names of the pods that are surely not made because the API server said no, its `refused_pods`
  // all that were asked for and were not made.
  Status Apply(const job::TrainingJob& job, const std::vector<job::Action>& actions,
               const std::vector<kube::ObjectPtr>& pods, JobRecord& record, Time now) const;

 private:
  Status DeleteAll(const std::vector<job::Action>& actions,
                   const std::vector<kube::ObjectPtr>& pods, JobRecord& record) const;
  Status CreateAll(const job::TrainingJob& job, const std::vector<job::Action>& actions,
                   JobRecord& record, Time now) const;
  Status CheckOwner(const job::TrainingJob& job, const kube::ObjectKey& pod,
                    JobRecord& record) const;

  kube::Client* const client_;
  const ObjectOptions options_;
};

}  // namespace paceline::controller
