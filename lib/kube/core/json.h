// Defines Json, the form in which this library holds every Kubernetes object.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(Json pod, ParseJson(text));
//   const std::string phase = StringAt(pod, "/status/phase");   // "" where it is absent
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "lib/base/status.h"

namespace paceline::kube {

using Json = nlohmann::json;

// InvalidArgument with the position and what was expected. What nests too deep is left out.
StatusOr<Json> ParseJson(std::string_view text);

// One line, even for strings that are not UTF-8 (replaced by U+FFFD). Never fails.
std::string WriteJson(const Json& value);

// A part of a JSON pointer between two slashes, as it was before "~1" and "~0" stood for "/" and
// "~".
std::string Unescaped(std::string_view part);

// The value at a JSON pointer ("/status/phase"), or nullptr if it or a part of the way is absent.
const Json* Find(const Json& value, std::string_view pointer);

// As Find, where it is a string, else "". For numbers: 0 where absent or not an integer.
std::string StringAt(const Json& value, std::string_view pointer);
int64_t IntegerAt(const Json& value, std::string_view pointer);
bool IsTrueAt(const Json& value, std::string_view pointer);

}  // namespace paceline::kube
