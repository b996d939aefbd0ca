// Makes the merge patch that PATH=VALUE asks for on a TrainingJob of a cluster.
#pragma once

#include <string>
#include <vector>

#include "lib/job/manifest/field_error.h"
#include "lib/kube/core/json.h"

namespace paceline::commands {

struct JobPatch {
  kube::Json patch;                     // Of `spec` alone; an empty object where all is so already.
  std::vector<job::FieldError> errors;  // Not empty: there is no patch.
};

// `object` is the TrainingJob as the API server has it. What the overrides
// (lib/job/manifest/overrides.h) lead to is checked as the operator will check it, so that an error
// comes with all that is wrong, and with what may not change (lib/job/checks/change.h), before
// anything is sent. A value replaces what is there, objects too.
JobPatch MakeJobPatch(const kube::Json& object, const std::vector<std::string>& overrides);

// "sync.scheme=SSP" as "spec.sync.scheme=SSP"; whole paths as they are.
std::string BelowSpec(const std::string& override);

}  // namespace paceline::commands
