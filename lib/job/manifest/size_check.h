// Says of a manifest that it is larger than anybody's is, before work is put into it.
//
// Whatever passes costs less than a second to read or refuse.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "lib/job/manifest/field_error.h"
#include "lib/job/manifest/node.h"

namespace paceline::job {

// The messages, for those who count by themselves.
std::string TooManyValues(size_t values_max);
std::string TooDeep();
std::string TooLongKey();

std::optional<FieldError> CheckLength(std::string_view text, size_t bytes_max);

// Counts no further than the limits; the path leads to where one is reached.
std::optional<FieldError> CheckSize(const nlohmann::json& json);
std::optional<FieldError> CheckSize(const Node& root);

}  // namespace paceline::job
