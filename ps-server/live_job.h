// Defines LiveJob: the job as it is wanted now, which may change while it runs.
#pragma once

#include <mutex>
#include <string>

#include "lib/base/status.h"
#include "lib/coordination/fact.h"
#include "lib/job/manifest/training_job.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::ps {

// What may not differ between two specs of one running job; the first difference as a path, such as
// "spec.training.seed", with both values. OK if there is none.
//
// Model, data, training but for its course, the number of shards, chaos and the job's name are as
// they were; what remains is taken over live (sync, workers.replicas and minReplicas; of training
// stop.maxEpochs, stop.maxSteps and learningRate.base) or means nothing to a coordinator.
Status CheckUnchanged(const job::TrainingJob& from, const job::TrainingJob& to);

// Thread-safe.
class LiveJob {
 public:
  // `policy` is what job::PolicySpecFrom(job) gave.
  LiveJob(job::TrainingJob job, sync::PolicySpec policy);

  job::TrainingJob job() const;
  sync::PolicySpec policy() const;  // That would be made now.

  // `text` is a resolved TrainingJob, JSON. What coordination is to be told of it. InvalidArgument
  // if it is none, is not valid or not available here; FailedPrecondition if it changes what must
  // stay. Nothing is taken over then.
  StatusOr<coordination::SpecChanged> Take(const std::string& text);

 private:
  mutable std::mutex mutex_;
  job::TrainingJob job_;
  sync::PolicySpec policy_;
};

}  // namespace paceline::ps
