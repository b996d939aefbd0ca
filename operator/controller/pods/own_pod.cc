#include "operator/controller/pods/own_pod.h"

#include <utility>

#include "operator/objects/seen/seen_pod.h"

namespace paceline::controller {

std::vector<OwnPod> OwnPods(const job::TrainingJob& job, const std::vector<kube::ObjectPtr>& pods) {
  std::vector<OwnPod> own;
  for (const kube::ObjectPtr& pod : pods) {
    if (auto process = SeenPod(job, *pod)) own.push_back({pod, *std::move(process)});
  }
  return own;
}

}  // namespace paceline::controller
