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
  std::vector<std::string> ignored = {};  // Paths of unknown fields, where those are no errors.
};

// What becomes of fields that this version does not know. People's are refused, since most are
// misspelt. What an operator has written may be of a later version, which leaves out what would
// matter (docs/adr/0089).
enum class UnknownFields { kRefuse, kIgnore };

// Checks apiVersion and kind, types, enum words, required and unknown fields; not bounds
// (validate.h). A null counts as absent. A float without a fraction is a whole number; a string
// never is a number, but may be a time (duration_field.h).
Decoded Decode(const Node& root, UnknownFields unknown = UnknownFields::kRefuse);

// A map of texts, such as labels, by the same rules; what is of another type is told below `path`.
StringMap DecodeTexts(const Node& node, const std::string& path, std::vector<FieldError>& errors);

}  // namespace paceline::job
