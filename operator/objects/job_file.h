// Keeps the file that a job's programs read to what the version of them knows that they are of.
#pragma once

#include <string>

namespace paceline::controller {

// `text`, a job's file as this version writes it, without fields that `before` lacks, the file that
// its programs were started with, and whose values are what they are by default: an older version
// refuses fields that it does not know. Each version writes all fields that it knows. A field with
// another value stays, and so do those of lists' elements. Of what is no JSON, `text` as it is.
std::string JobFileFor(const std::string& before, const std::string& text);

}  // namespace paceline::controller
