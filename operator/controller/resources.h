// Says where the API serves what the operator works with beside Kubernetes' own kinds.
#pragma once

#include <string>

#include "lib/kube/core/resource.h"
#include "operator/objects/options.h"

namespace paceline::controller {

kube::Resource TrainingJobs();
kube::Resource PodGroups(GangScheduler scheduler);  // Not for kNone.

std::string NameOf(const kube::Resource& resource);  // "podgroups.scheduling.volcano.sh"

inline constexpr char kFieldManager[] = "paceline-operator";

}  // namespace paceline::controller
