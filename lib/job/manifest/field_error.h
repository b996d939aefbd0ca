// Defines FieldError: one thing that is wrong with a manifest, and where.
//
// Example:
//   for (const FieldError& error : loaded.errors) fmt::print("{}\n", ToString(error));
//   // line 12: spec.workers.replicas: must be at least 1: got 0
#pragma once

#include <string>

#include <fmt/format.h>

namespace paceline::job {

struct FieldError {
  std::string path;     // "spec.sync.ssp.staleness"; empty for the text as a whole.
  std::string message;  // What is wrong, what would be right, the value found.
  int line = 0;         // From 1; 0 where no line of the text is to blame.
  friend bool operator==(const FieldError&, const FieldError&) = default;
};

inline std::string ToString(const FieldError& error) {
  const std::string line = error.line > 0 ? fmt::format("line {}: ", error.line) : "";
  return line + (error.path.empty() ? error.message : error.path + ": " + error.message);
}

}  // namespace paceline::job
