// Defines JobRecord: all that the operator remembers of a job between two looks at it, and
// JobRecords, which keeps one for each job by its uid. All of it can be lost: a fresh operator
// finds its way from the cluster alone.
//
// Example:
//   records.Lead();
//   if (const auto record = records.Of(key, uid)) record->gone_pods.Expect(pod_uid);
//   records.Forget(key);   // The job is gone.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/state/observation.h"
#include "lib/kube/core/object_key.h"
#include "lib/kube/runtime/backoff.h"
#include "lib/kube/runtime/expectations.h"
#include "lib/kube/runtime/informer.h"
#include "operator/controller/children.h"
#include "operator/controller/coordinator/coordinator_talk.h"
#include "operator/controller/installations/job_claim.h"
#include "operator/controller/pods/pod_clocks.h"
#include "operator/controller/pods/refused_pods.h"
#include "operator/controller/pods/room_news.h"
#include "operator/controller/pods/unseen_pods.h"
#include "operator/controller/secrets/certificates.h"
#include "operator/controller/secrets/control_tokens.h"
#include "operator/objects/defaults/pod_defaults.h"
#include "operator/objects/ownership.h"

namespace paceline::controller {

// A TrainingJob as it lies in the API server, read.
struct ReadJob {
  kube::ObjectPtr object;
  job::TrainingJob job;  // With its defaults.
  std::vector<job::FieldError> errors;
};

// Pods of one job that went away by no wish of ours: the planner is shown them as disrupted until
// it has started them again. Thread-safe.
class GonePods {
 public:
  // A pod of the job was gone at `now`.
  void PodGone(const std::string& pod_uid, job::SeenProcess process, Time now);
  // We are about to delete it ourselves: nothing of it is kept.
  void Expect(const std::string& pod_uid);
  // Names that `processes` does not hold are added.
  void AddTo(std::vector<job::SeenProcess>& processes) const;
  bool Take(const std::string& name);  // Whether there was one.

 private:
  mutable std::mutex mutex_;
  std::set<std::string> expected_;  // Uids of pods.
  std::map<std::string, job::SeenProcess> gone_;
};

// Used by one thread at a time, the one that reconciles the job, but for what is told of as it is
// seen.
struct JobRecord {
  JobRecord(kube::ObjectKey its_key, std::string its_uid);

  const kube::ObjectKey key;
  const std::string uid;

  JobClaim claim;
  std::atomic<bool> is_anothers{false};  // As the claim said when the job was last looked at.
  std::string told_other;                // What was said of its being another installation's.

  // Of pods. Both thread-safe.
  kube::Expectations expectations;
  GonePods gone_pods;

  // The version last looked at, while the job has pods: there are more news of them than of it.
  std::shared_ptr<const ReadJob> read;
  std::optional<PodDefaults> defaults;  // That its pods have (job_defaults.h); nothing: unknown.
  CoordinatorTalk talk;
  PodClocks clocks;
  UnseenPods unseen;
  RoomNews room;
  std::map<std::string, std::string> told_labels;  // By uids of pods: what was said of theirs.
  SeenChildren children;
  SeenServersBudget servers_budget;
  KnownCertificates certificates;
  KnownToken token;
  Time secrets_due;                         // When they are looked at again: nobody watches them.
  FormerJob former;                         // What was found to be in the way at the last look.
  std::optional<job::JobStatus> unwritten;  // Pods were made by it before it was written,
  Time first_pods_made;                     // then.
  std::optional<Time> progress_written_at;
  Status resources;                // Why what stands around the pods could not be made, or OK.
  std::string terminating_claims;  // What servers would mount and is being deleted: names.
  std::string missing_claim;       // That decides where checkpoints are, and is waited for.
  std::optional<job::ClaimAccess> output_claim;  // What that one said.
  std::string claims_of_others;                  // Told of: names.
  int64_t claims_settled = 0;     // The job's generation that claims belong to it as it says.
  Status pods;                    // Why pods could not be made, or OK.
  std::set<std::string> refused;  // Names of those that the API server said no to.
  RefusedPods refused_pods;       // Likewise, and when they are asked for again.
  Status aside;                   // Why their labels, or claims, are not as they should be, or OK.
  // Until what stands around the pods, or aside, is tried again.
  kube::Backoff around{RefusedPods::kPauseMin, RefusedPods::kPauseMax};
};

// Thread-safe; of what it gives out only what says so is.
class JobRecords {
 public:
  // From now on records are made.
  void Lead();
  // Of the job with this uid, made if there is none; another one of that name is forgotten. Null
  // while somebody else leads.
  std::shared_ptr<JobRecord> Of(const kube::ObjectKey& job, const std::string& uid);
  // Null if there is none.
  std::shared_ptr<JobRecord> Find(const std::string& uid) const;
  // All of the job of that name, whatever its uid.
  void Forget(const kube::ObjectKey& job);
  void ForgetAll();  // And makes none any more.
  size_t size() const;
  size_t CountOthers() const;  // Jobs that are left to another installation.

 private:
  mutable std::mutex mutex_;
  bool leads_ = false;
  std::map<std::string, std::shared_ptr<JobRecord>> by_uid_;
  std::map<kube::ObjectKey, std::string> uids_;  // Of the jobs that there are records of.
};

}  // namespace paceline::controller
