// Lays what Paceline needs over a user's JSON, which may be of any shape.
#pragma once

#include <iterator>
#include <string_view>
#include <utility>

#include "operator/objects/metadata.h"

namespace paceline::controller {

// `key` of `object`, set if nobody has said anything. Null says: leave it out.
inline void Default(Json& object, const char* key, Json value) {
  if (!object.contains(key)) object[key] = std::move(value);
}

// Of what no container goes without.
inline void Needed(Json& object, const char* key, Json value) {
  if (!object.contains(key) || object[key].is_null()) object[key] = std::move(value);
}

// Whether there is to be a `key` of `object`, which then has it.
inline bool IsLeftIn(Json& object, const char* key) {
  if (object.contains(key) && object[key].is_null()) return false;
  if (!object[key].is_object()) object[key] = Json::object();
  return true;
}

// What is null has been left out by whoever wrote it.
inline void DropNulls(Json& value) {
  if (value.is_object()) {
    for (auto member = value.begin(); member != value.end();)
      member = member->is_null() ? value.erase(member) : std::next(member);
  }
  if (!value.is_structured()) return;
  for (Json& part : value) DropNulls(part);
}

inline Json& ObjectAt(Json& object, const char* key) {
  if (!object[key].is_object()) object[key] = Json::object();
  return object[key];
}

inline Json& ListAt(Json& object, const char* key) {
  if (!object[key].is_array()) object[key] = Json::array();
  return object[key];
}

// The element of `list` whose `key` is `value`; appended if there is none.
inline Json& Named(Json& list, const char* key, std::string_view value) {
  for (Json& element : list) {
    if (element.is_object() && element.contains(key) && element[key] == value) return element;
  }
  list.push_back({{key, value}});
  return list.back();
}

}  // namespace paceline::controller
