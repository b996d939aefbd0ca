// Reads parts of JSON that may be of any shape: what is not there is null, "", 0 or false.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operator/objects/metadata.h"

namespace paceline::controller {

inline const Json& Nothing() {
  static const Json kNothing;
  return kNothing;
}

inline const Json& At(const Json& object, std::string_view key) {
  if (!object.is_object()) return Nothing();
  const auto found = object.find(key);
  return found == object.end() ? Nothing() : *found;
}

inline std::string TextAt(const Json& object, std::string_view key) {
  const Json& value = At(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

inline int64_t NumberAt(const Json& object, std::string_view key) {
  const Json& value = At(object, key);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

// Of a list of objects, the first whose `key` is that text.
inline const Json& Among(const Json& list, std::string_view key, std::string_view text) {
  if (list.is_array()) {
    for (const Json& element : list) {
      if (TextAt(element, key) == text) return element;
    }
  }
  return Nothing();
}

// Of an object's status, the condition of that type.
inline const Json& ConditionAt(const Json& status, std::string_view type) {
  return Among(At(status, "conditions"), "type", type);
}

}  // namespace paceline::controller
