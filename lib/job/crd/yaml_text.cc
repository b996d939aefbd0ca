#include "lib/job/crd/yaml_text.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include "lib/base/json_text.h"
#include "lib/job/manifest/values/scalar.h"

namespace paceline::job {
namespace {

std::string NumberText(double number) {
  const bool is_whole = std::trunc(number) == number && std::abs(number) < 1e18;
  return is_whole ? fmt::format("{}", static_cast<int64_t>(number)) : fmt::format("{}", number);
}

void Emit(YAML::Emitter& out, const nlohmann::ordered_json& json) {
  if (json.is_object()) {
    if (json.empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, value] : json.items()) {
      out << YAML::Key << key << YAML::Value;
      Emit(out, value);
    }
    out << YAML::EndMap;
  } else if (json.is_array()) {
    const bool has_words = !json.empty() && json.front().is_primitive();
    if (json.empty() || has_words) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const auto& element : json) Emit(out, element);
    out << YAML::EndSeq;
  } else if (json.is_string()) {
    const std::string text = json.get<std::string>();
    // The emitter quotes what is no plain scalar, but not what would be read as another type.
    if (ResolveScalar(text).kind != Node::Kind::kString) out << YAML::DoubleQuoted;
    out << text;
  } else if (json.is_boolean()) {
    out << (json.get<bool>() ? "true" : "false");
  } else if (json.is_number_float()) {
    out << NumberText(json.get<double>());
  } else {
    out << JsonText(json);
  }
}

}  // namespace

std::string ToYamlText(const nlohmann::ordered_json& json) {
  YAML::Emitter out;
  out.SetIndent(2);
  Emit(out, json);
  return std::string(out.c_str()) + "\n";
}

}  // namespace paceline::job
