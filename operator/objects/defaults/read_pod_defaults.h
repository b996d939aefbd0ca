// Reads PodDefaults, and refuses by path and value what could be none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/job/manifest/field_error.h"
#include "operator/objects/defaults/pod_defaults.h"

namespace paceline::controller {

struct ReadDefaults {
  PodDefaults defaults;                 // What is right, and says something.
  std::vector<job::FieldError> errors;  // Of the rest.
};

// YAML or JSON: all, parameterServer, workers and evaluator, each with some of
//   imagePullSecrets, imagePullPolicy, imageRegistry, nodeSelector, tolerations, resources, labels,
//   annotations, env, runtimeClassName, priorityClassName, securityContext (the pod's)
// as in a pod. Null says that a field is left out. Refused are, besides what is unknown or of a
// wrong type: labels and annotations that Paceline sets or that GitOps tools track objects by,
// variables that Paceline's programs are told by, and tolerations of lost nodes, which
// runPolicy.nodeLostSeconds says.
ReadDefaults ReadPodDefaults(std::string_view text);

}  // namespace paceline::controller
