// Defines JobMemory: what the operator remembers of a job between two looks at it. All of it can be
// lost: a fresh operator finds its way from the cluster alone.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/job/field_error.h"
#include "lib/job/observation.h"
#include "lib/job/training_job.h"
#include "lib/kube/core/object_key.h"
#include "lib/kube/runtime/informer.h"
#include "operator/controller/children.h"
#include "operator/controller/coordinator_talk.h"

namespace paceline::controller {

// A TrainingJob as it lies in the API server, read.
struct ReadJob {
  kube::ObjectPtr object;
  job::TrainingJob job;  // With its defaults.
  std::vector<job::FieldError> errors;
};

// Used by one thread at a time, the one that reconciles the job, but for Tombstones.
struct JobMemory {
  std::string uid;
  // The version last looked at, while the job has pods: there are more news of them than of it.
  std::shared_ptr<const ReadJob> read;
  CoordinatorTalk talk;
  SeenChildren children;                 // When they last were as wanted.
  std::optional<job::JobStatus> untold;  // Pods were made by it before it was written,
  Time first_pods_made;                  // then.
  std::optional<Time> progress_written_at;
  Status resources;                // Why what stands around the pods could not be made, or OK.
  std::string terminating_claims;  // What servers would mount and is being deleted: names.
  std::string missing_claim;       // That decides where checkpoints are, and is waited for.
  std::optional<job::ClaimAccess> output_claim;  // What that one said.
  std::string claims_of_others;                  // Told of: names.
  int64_t claims_settled = 0;     // The job's generation that claims belong to it as it says.
  Status pods;                    // Why pods could not be made, or OK.
  std::set<std::string> refused;  // Names of those that the API server said no to.
};

// Pods that went away by no wish of ours: the planner is shown them as disrupted until it has
// started them again. Thread-safe.
class Tombstones {
 public:
  // A pod of the job was gone at `now`.
  void PodGone(const kube::ObjectKey& job, const std::string& pod_uid, job::SeenProcess process,
               Time now);
  // We are about to delete it ourselves: no tombstone will be put up.
  void Expect(const std::string& pod_uid);
  // Names that `processes` does not hold are added.
  void AddTo(const kube::ObjectKey& job, std::vector<job::SeenProcess>& processes) const;
  bool Take(const kube::ObjectKey& job, const std::string& name);  // Whether there was one.
  void Forget(const kube::ObjectKey& job);

 private:
  mutable std::mutex mutex_;
  std::set<std::string> expected_;  // Uids of pods.
  std::map<kube::ObjectKey, std::map<std::string, job::SeenProcess>> gone_;
};

// Thread-safe; the memory that it gives out is not.
class JobMemories {
 public:
  // Of the job with this uid; an earlier job's of that name is forgotten.
  std::shared_ptr<JobMemory> Of(const kube::ObjectKey& job, const std::string& uid);
  // The uid of the job that was forgotten, if there was one.
  std::optional<std::string> Forget(const kube::ObjectKey& job);
  void ForgetAll();

 private:
  std::mutex mutex_;
  std::map<kube::ObjectKey, std::shared_ptr<JobMemory>> by_job_;
};

}  // namespace paceline::controller
