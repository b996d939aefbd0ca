// Defines Children: makes what stands around a job's pods be there as it is wanted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/job/manifest/training_job.h"
#include "lib/job/state/checkpoint_place.h"
#include "lib/kube/client/client.h"
#include "operator/controller/cluster_view.h"
#include "operator/objects/defaults/pod_defaults.h"
#include "operator/objects/options.h"
#include "operator/objects/ownership.h"

namespace paceline::controller {

// What the view showed of a job's children that are as wanted; kept in its record. By plural and
// name.
struct SeenChildren {
  int64_t generation = 0;                    // Of the job; 0 is none's.
  std::map<std::string, std::string> marks;  // Empty: it is not to be there, and is not.
  std::set<std::string> made;                // By us, and not seen yet.
  std::string map_made;                      // Mark of the ConfigMap that the claim has made.
  // The job's file, where its programs are of an older version, which knows less (job_file.h).
  std::optional<std::string> older_file = std::nullopt;
};

// The same of what keeps a job's parameter servers from being evicted (disruption.h), which a job
// can do without.
struct SeenServersBudget {
  std::string mark;  // Empty: it is not there.
  bool is_made = false;
  Status refusal;  // Why it could not be made, or OK...
  Time due{};      // ...and when that is tried again.
};

// Of the claims that a job's parameter servers mount: names, as "digits-checkpoint-0, ...".
struct ClaimNews {
  std::string terminating;  // Are being deleted: nothing that mounts them can start.
  std::string of_others;    // Another job has made them: they stay, whatever this one says.
};

// Thread-safe; holds no state of a job.
class Children {
 public:
  // Both outlive this.
  Children(kube::Client* client, const ClusterView* view, ObjectOptions options);

  // Service, ConfigMap, NetworkPolicy, budget, PodGroup, with the labels and annotations that
  // `defaults` have for them and, in the ConfigMap, the defaults: writes those that are missing or
  // other than wanted, and nothing if none is. Orphans are adopted; what a former job left is added
  // to `former`. FailedPrecondition if an object of that name belongs to somebody else: it is left
  // alone. `installation`: whose the job is, which its ConfigMap says. `good` is this job's, filled
  // and read here alone: where the view shows the same again, nothing is compared, and where it
  // shows something else the object itself is read.
  Status Ensure(const job::TrainingJob& job, const std::string& installation,
                const PodDefaults& defaults, SeenChildren& good, FormerJob& former) const;

  // Has the parameter servers of a job that cannot recover be kept where they are, and others not.
  // What the API server refuses it tries again once a minute.
  Status KeepServers(const job::TrainingJob& job, const PodDefaults& defaults, Time now,
                     SeenServersBudget& seen) const;
  // Takes away what kept a job from being disrupted that has nothing to lose any more.
  Status LetServersGo(const job::TrainingJob& job) const;

  // The checkpoint volumes of spec.checkpoint.volumeClaimTemplate. Claims that are there are taken
  // as they are, but for a former job's that go with it, which are added to `former`. Not watched:
  // call before parameter servers are created.
  StatusOr<ClaimNews> EnsureClaims(const job::TrainingJob& job, const PodDefaults& defaults,
                                   FormerJob& former) const;
  // What the claim says that decides where the job's checkpoints are (job::DecidingClaim), which
  // there must be; nothing if it is not there, or is being deleted.
  StatusOr<std::optional<job::ClaimAccess>> ReadDecidingClaim(const job::TrainingJob& job) const;
  // Has the claims that are there belong to the job or not, as it says now.
  Status SettleClaims(const job::TrainingJob& job) const;

 private:
  struct Wanted {
    kube::Resource resource;
    kube::Json object;
  };
  std::map<std::string, std::string> MarksOf(const job::TrainingJob& job) const;
  Status Compare(const job::TrainingJob& job, const std::string& installation,
                 const PodDefaults& defaults, SeenChildren& good, FormerJob& former) const;
  Status CreateAll(const job::TrainingJob& job, const std::vector<Wanted>& children,
                   SeenChildren& good, FormerJob& former) const;
  Status MakeServersBudget(const job::TrainingJob& job, const kube::Json& budget,
                           SeenServersBudget& known) const;
  // Of one that is there already.
  Status MendServersBudget(const job::TrainingJob& job, const kube::Json& budget,
                           SeenServersBudget& known) const;
  // Of one that is there already, whosesoever it is.
  Status MakeAsWanted(const job::TrainingJob& job, Wanted child, SeenChildren& good,
                      FormerJob& former) const;
  // One claim that is there, or not any more.
  Status SettleClaim(const job::TrainingJob& job, const std::string& name, ClaimNews& news,
                     FormerJob& former) const;
  Status RemoveOne(const job::TrainingJob& job, const kube::Resource& resource,
                   const std::string& name) const;

  kube::Client* const client_;
  const ClusterView* const view_;
  const ObjectOptions options_;
};

}  // namespace paceline::controller
