// Writes the CustomResourceDefinition of TrainingJob, deploy/crd/trainingjobs.yaml, from the
// fields' notes (note.h) and the rules between them (rules.h).
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace paceline::job {

// The object: group paceline.dev, version v1alpha1, `status` and `scale` subresources.
nlohmann::ordered_json CustomResourceDefinition();

// The whole file. A test compares it with deploy/crd/trainingjobs.yaml; `make crd` rewrites that.
std::string CustomResourceDefinitionFile();

}  // namespace paceline::job
