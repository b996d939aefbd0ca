// Defines RoomNews: whether somebody makes room for a job's pods that have found none.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/kube/client/client.h"
#include "operator/controller/cluster_view.h"
#include "operator/controller/pods/own_pod.h"

namespace paceline::controller {

// When an event of a pod says that a machine is started for it: TriggeredScaleUp (Kubernetes'
// autoscaler) and Nominated (Karpenter). Nothing of any other event.
std::optional<Time> RoomPromisedBy(const kube::Json& event);

using PodsOfJob = std::function<std::vector<kube::ObjectPtr>(const std::string& uid)>;
// Whether a job other than this one has found too few machines, or its pods are held back from
// them.
bool AnyOtherWaits(const std::vector<kube::ObjectPtr>& jobs, const PodsOfJob& pods_of,
                   const kube::ObjectKey& but);

// Of one job; used by one thread at a time. Can be lost: what was said is then asked for again.
class RoomNews {
 public:
  // Asks for the events of pods that have waited for a while, each by its uid, ten pods at most and
  // once a minute at most; they are never watched. Notes which pods a scheduler takes others away
  // for. What the API server refuses is what nobody said.
  void Refresh(kube::Client& client, const std::vector<OwnPod>& pods, Time now);
  // By the newest of all that was said of pods that wait yet.
  std::optional<Time> promised_at() const;

 private:
  struct Waiting {
    std::optional<Time> asked_at, promised_at;
    bool is_nominated = false;
  };
  std::map<std::string, Waiting> by_uid_;
};

}  // namespace paceline::controller
