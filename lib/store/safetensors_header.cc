#include "lib/store/safetensors_header.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"

namespace paceline::store {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";

// Nothing if it is not JSON; `repeated` becomes a top-level name that comes twice.
Json ParseJson(std::string_view text, std::string& repeated) {
  std::set<std::string> names;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 1 && event == Json::parse_event_t::key &&
        !names.insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  return Json::parse(text, watch, /*allow_exceptions=*/false);
}

bool IsListOfCounts(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& element) {
           return element.is_number_unsigned() && element.get<uint64_t>() <= uint64_t{INT64_MAX};
         });
}

StatusOr<SafetensorsEntry> ParseEntry(const std::string& name, const Json& json,
                                      uint64_t data_bytes) {
  SafetensorsEntry entry;
  entry.name = name;
  if (!json.is_object())
    return InvalidArgument("tensor {} is described by {}, want an object", name, json.type_name());
  const auto type = json.find("dtype"), shape = json.find("shape"),
             offsets = json.find("data_offsets");
  if (type == json.end() || !type->is_string())
    return InvalidArgument("tensor {} has no dtype", name);
  const std::optional<SafetensorsType> known = TypeOf(type->get<std::string>());
  if (!known)
    return InvalidArgument("tensor {} has an unknown dtype: got {}", name,
                           type->get<std::string>());
  entry.type = *known;
  if (shape == json.end() || !IsListOfCounts(*shape)) {
    return InvalidArgument("tensor {} has no shape of whole numbers from 0", name);
  }
  for (const Json& dimension : *shape) entry.shape.push_back(dimension.get<int64_t>());
  if (offsets == json.end() || !IsListOfCounts(*offsets) || offsets->size() != 2) {
    return InvalidArgument("tensor {} has no two data_offsets", name);
  }
  entry.begin = (*offsets)[0].get<uint64_t>();
  entry.end = (*offsets)[1].get<uint64_t>();
  if (entry.begin > entry.end || entry.end > data_bytes) {
    return InvalidArgument("tensor {} lies outside the data: got [{}, {}) of {} bytes", name,
                           entry.begin, entry.end, data_bytes);
  }
  const std::optional<uint64_t> size = SizeBytes(entry.shape, entry.type);
  if (!size || *size != entry.end - entry.begin) {
    return InvalidArgument("tensor {} has {} bytes, which does not fit its shape {} of {}", name,
                           entry.end - entry.begin, shape->dump(), type->get<std::string>());
  }
  return entry;
}

StatusOr<std::map<std::string, std::string>> ParseMetadata(const Json& json) {
  std::map<std::string, std::string> metadata;
  if (!json.is_object())
    return InvalidArgument("{} is {}, want an object", kMetadata, json.type_name());
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      return InvalidArgument("{} of {} is {}, want a string", key, kMetadata, value.type_name());
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

}  // namespace

StatusOr<SafetensorsHeader> ParseHeader(std::string_view json, uint64_t data_bytes) {
  std::string repeated;
  const Json parsed = ParseJson(json, repeated);
  if (!parsed.is_object()) return InvalidArgument("header is not a JSON object");
  if (!repeated.empty()) return InvalidArgument("tensor {} is named twice", repeated);
  SafetensorsHeader header;
  for (const auto& [name, description] : parsed.items()) {
    if (name == kMetadata) {
      PACELINE_ASSIGN_OR_RETURN(header.metadata, ParseMetadata(description));
      continue;
    }
    PACELINE_ASSIGN_OR_RETURN(SafetensorsEntry entry, ParseEntry(name, description, data_bytes));
    header.entries.push_back(std::move(entry));
  }
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin < at)
      return InvalidArgument("tensor {} overlaps the one before it", entry.name);
    if (entry.begin > at)
      return InvalidArgument("{} bytes before tensor {} belong to none", entry.begin - at,
                             entry.name);
    at = entry.end;
  }
  if (at != data_bytes)
    return InvalidArgument("{} bytes at the end belong to no tensor", data_bytes - at);
  return header;
}

std::string FormatHeader(const SafetensorsHeader& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    json[entry.name] = {{"dtype", NameOf(entry.type)},
                        {"shape", entry.shape},
                        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = JsonText(json);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace paceline::store
