// Writes JSON as YAML for people: block style, strings quoted only where they must be.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace paceline::job {

// Ends in a new line. Any reader of YAML 1.1 or 1.2 gets the same value back.
std::string ToYamlText(const nlohmann::ordered_json& json);

}  // namespace paceline::job
