// Defines ClusterView: the operator's copy of what it needs to know, kept up to date by watches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/kube/client/client.h"
#include "lib/kube/runtime/informer.h"
#include "operator/objects/options.h"

namespace paceline::controller {

struct ClusterViewHandler {
  // On the client's loop; must not block.
  std::function<void(const kube::ObjectKey& job, bool is_initial)> job_changed;
  // Its status alone did, which is as a rule our own doing.
  std::function<void(const kube::ObjectKey& job)> status_changed;
  // Something that belongs to that job changed, later than in the first list.
  std::function<void(const kube::ObjectKey& job)> child_changed;
  // A pod with the label of a job of that name changed; before `child_changed`.
  std::function<void(const kube::ObjectKey& job, const kube::ObjectChange& change)> pod_changed;
  // For logs: "list podgroups.scheduling.volcano.sh", and why.
  std::function<void(const std::string& what, const Status& status)> failed;
};

// Of pods it keeps what PartsOfPod names; of other children only what tells whether they are as
// wanted. Secrets are never watched. Thread-safe.
class ClusterView {
 public:
  // `name_space`: empty for all. `client` outlives this.
  ClusterView(kube::Client& client, const std::string& name_space, GangScheduler gang_scheduler,
              ClusterViewHandler handler);

  void Start();
  void Stop();
  // DeadlineExceeded naming what could not be listed, and why. Of PodGroups it waits for an answer
  // of any kind: their API is somebody else's, and may not be there, or go away.
  Status WaitForSync(Duration deadline) const;
  bool HasSynced() const;

  kube::ObjectPtr Job(const kube::ObjectKey& key) const;  // Null if there is none.
  std::vector<kube::ObjectPtr> Jobs() const;
  std::vector<kube::ObjectPtr> PodsOf(const std::string& job_uid) const;
  // Those with the label of a job of that name, whosesoever they are.
  std::vector<kube::ObjectPtr> PodsNamedAfter(const kube::ObjectKey& job) const;
  // A child other than a pod, by its kind's plural; null if there is none with our label.
  kube::ObjectPtr Child(const std::string& plural, const kube::ObjectKey& key) const;

 private:
  kube::Informer& Add(const kube::Resource& resource, kube::InformerOptions options,
                      kube::InformerHandler handler);

  kube::Client& client_;
  std::map<std::string, std::unique_ptr<kube::Informer>> informers_;  // By plural.
  std::set<std::string> optional_;  // Of these: kinds that the API server may not serve.
};

}  // namespace paceline::controller
