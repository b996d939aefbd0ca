// Defines Children: makes what stands around a job's pods be there as it is wanted.
#pragma once

#include <string>
#include <vector>

#include "lib/job/training_job.h"
#include "lib/kube/client/client.h"
#include "operator/controller/cluster_view.h"
#include "operator/objects/options.h"

namespace paceline::controller {

// Thread-safe; holds no state of a job.
class Children {
 public:
  // Both outlive this.
  Children(kube::Client* client, const ClusterView* view, ObjectOptions options);

  // Service, ConfigMap, NetworkPolicy, budget, PodGroup: writes those that are missing or
  // other than wanted, and nothing if none is. FailedPrecondition if an object of that name belongs
  // to somebody else: it is left alone.
  Status Ensure(const job::TrainingJob& job) const;

  // Changes whenever Ensure could find something to do: it names the job's generation and the
  // versions of its children in the view.
  std::string Seen(const job::TrainingJob& job) const;

  // The checkpoint volumes of spec.checkpoint.volumeClaimTemplate. Claims that are there are taken
  // as they are. Not watched: call before parameter servers are created.
  Status EnsureClaims(const job::TrainingJob& job) const;

 private:
  struct Wanted {
    kube::Resource resource;
    kube::Json object;
  };
  Status CreateAll(const job::TrainingJob& job, const std::vector<Wanted>& children) const;
  // Of one that is there already, whosesoever it is.
  Status MakeAsWanted(const job::TrainingJob& job, const Wanted& child) const;
  Status RemoveOne(const job::TrainingJob& job, const kube::Resource& resource,
                   const std::string& name) const;

  kube::Client* const client_;
  const ClusterView* const view_;
  const ObjectOptions options_;
};

}  // namespace paceline::controller
