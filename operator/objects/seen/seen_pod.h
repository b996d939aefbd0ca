// Reads a pod as the planner sees it.
#pragma once

#include <optional>

#include "lib/job/manifest/training_job.h"
#include "lib/job/state/observation.h"
#include "lib/kube/core/selection.h"
#include "operator/objects/metadata.h"

namespace paceline::controller {

// None if the pod is not the job's child (by its owner's uid; labels alone make nothing a child) or
// not one of its processes, as its name says. Labels say nothing here: anybody may change them
// (pod_labels.h).
//
// The process is Paceline's own container: a sidecar's end is not its end. Whether it
// failed or was disrupted is pod_end.h's to say.
std::optional<job::SeenProcess> SeenPod(const job::TrainingJob& job, const Json& pod);

// What of a pod is read here, and by what finds and names pods. Most of a pod, and most of what it
// costs to read one, is nobody's business here.
const kube::Selection& PartsOfPod();

// The address at which the pod can be reached, and none while it has none.
std::optional<std::string> PodAddress(const Json& pod);

}  // namespace paceline::controller
