#include "operator/controller/resources.h"

namespace paceline::controller {

kube::Resource TrainingJobs() {
  return {.group = "paceline.dev",
          .version = "v1alpha1",
          .kind = "TrainingJob",
          .plural = "trainingjobs"};
}

std::string NameOf(const kube::Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

kube::Resource PodGroups(GangScheduler scheduler) {
  if (scheduler == GangScheduler::kVolcano) {
    return {.group = "scheduling.volcano.sh",
            .version = "v1beta1",
            .kind = "PodGroup",
            .plural = "podgroups"};
  }
  return {.group = "scheduling.x-k8s.io",
          .version = "v1alpha1",
          .kind = "PodGroup",
          .plural = "podgroups"};
}

}  // namespace paceline::controller
