#include "lib/kube/core/json.h"

#include <algorithm>

#include "lib/base/json_text.h"
#include "lib/base/limits.h"

namespace paceline::kube {
namespace {

Status ParseFailure(std::string_view what, std::string_view text) {
  if (text.empty()) return InvalidArgument("JSON is empty");
  return InvalidArgument("JSON cannot be read: {}", what);
}

}  // namespace

StatusOr<Json> ParseJson(std::string_view text) {
  // The parser needs no stack for what is nested; those who copy, write and read its result do.
  const auto is_flat = [](int depth, Json::parse_event_t event, const Json&) {
    return (event != Json::parse_event_t::object_start &&
            event != Json::parse_event_t::array_start) ||
           depth < static_cast<int>(limits::kJsonDepthMax);
  };
  try {
    return Json::parse(text, is_flat);
  } catch (const Json::exception& error) {
    return ParseFailure(error.what(), text);
  }
}

std::string WriteJson(const Json& value) { return JsonText(value); }

std::string Unescaped(std::string_view part) {
  std::string text(part);
  for (size_t escape = 0; (escape = text.find('~', escape)) != std::string::npos; ++escape) {
    if (text.compare(escape, 2, "~1") == 0) text.replace(escape, 2, "/");
    if (text.compare(escape, 2, "~0") == 0) text.replace(escape, 2, "~");
  }
  return text;
}

const Json* Find(const Json& value, std::string_view pointer) {
  const Json* at = &value;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string_view part = pointer.substr(0, end);
    pointer.remove_prefix(end);
    if (at->is_object()) {
      const auto found =
          part.find('~') == std::string_view::npos ? at->find(part) : at->find(Unescaped(part));
      if (found == at->end()) return nullptr;
      at = &*found;
    } else if (at->is_array() && !part.empty() && part.size() < 10 &&
               part.find_first_not_of("0123456789") == std::string::npos) {
      const size_t index = std::stoul(std::string(part));
      if (index >= at->size()) return nullptr;
      at = &(*at)[index];
    } else {
      return nullptr;
    }
  }
  return at;
}

std::string StringAt(const Json& value, std::string_view pointer) {
  const Json* found = Find(value, pointer);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

int64_t IntegerAt(const Json& value, std::string_view pointer) {
  const Json* found = Find(value, pointer);
  return found != nullptr && found->is_number_integer() ? found->get<int64_t>() : 0;
}

bool IsTrueAt(const Json& value, std::string_view pointer) {
  const Json* found = Find(value, pointer);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

}  // namespace paceline::kube
