// Turns a Node into a TrainingJob, reporting all that does not fit.
#pragma once

#include <string>
#include <vector>

#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/node.h"
#include "lib/job/manifest/shape.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job {

// `job` holds defaults where nothing was said and where an error stands.
struct Decoded {
  TrainingJob job;
  std::vector<FieldError> errors;
};

// Checks apiVersion and kind, types, enum words, required and unknown fields; not bounds
// (validate.h). A null counts as absent. A float without a fraction is a whole number; a string
// never is a number, but may be a time (duration_field.h).
Decoded Decode(const Node& root);

// A map of texts, such as labels, by the same rules; what is of another type is told below `path`.
StringMap DecodeTexts(const Node& node, const std::string& path, std::vector<FieldError>& errors);

}  // namespace paceline::job
