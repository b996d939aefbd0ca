#include "lib/base/json_text.h"

#include <nlohmann/json.hpp>

namespace paceline {
namespace {

template <class Json>
std::string Written(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string JsonText(const nlohmann::json& value, int indent) { return Written(value, indent); }
std::string JsonText(const nlohmann::ordered_json& value, int indent) {
  return Written(value, indent);
}

nlohmann::json JsonFrom(std::string_view text) { return nlohmann::json::parse(text); }
nlohmann::json JsonOrNone(std::string_view text) {
  return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
}

}  // namespace paceline
