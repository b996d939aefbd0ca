// Defines how JSON becomes text and text JSON. The code of nlohmann's parser and writer is compiled
// once, not in each source that uses them: two seconds each.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace paceline {

// On one line, or with `indent` blanks a level. Strings that are no UTF-8, which a path may be,
// have U+FFFD for what is not: it never throws.
std::string JsonText(const nlohmann::json& value, int indent = -1);
std::string JsonText(const nlohmann::ordered_json& value, int indent = -1);

// Throws nlohmann::json::exception where it is none.
nlohmann::json JsonFrom(std::string_view text);
// Discarded (is_discarded()) where it is none.
nlohmann::json JsonOrNone(std::string_view text);

}  // namespace paceline
