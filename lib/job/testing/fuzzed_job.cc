#include "lib/job/testing/fuzzed_job.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/job/crd/schema.h"
#include "lib/job/manifest/training_job.h"

namespace paceline::job::testing {
namespace {

using Json = nlohmann::json;

constexpr size_t kShownMax = 60;

bool IsOpaque(const nlohmann::ordered_json& schema) {
  return schema.value("x-kubernetes-preserve-unknown-fields", false);
}

std::string Shown(const Json& value) {
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() <= kShownMax) return text;
  return fmt::format("{}...", text.substr(0, kShownMax));
}

// Where `path` leads, made on the way.
Json& At(Json& root, const std::vector<std::string>& path) {
  Json* at = &root;
  for (const std::string& step : path) {
    if (step == "[]") {
      if (!at->is_array()) *at = Json::array();
      if (at->empty()) at->push_back(nullptr);
      at = &at->front();
    } else {
      if (!at->is_object()) *at = Json::object();
      at = &(*at)[step];
    }
  }
  return *at;
}

}  // namespace

JobFuzzer::JobFuzzer(uint64_t seed) : state_(seed), seed_(seed), root_(OpenApiSchema()) {
  Collect(root_["properties"]["spec"], {"spec"});
}

void JobFuzzer::Collect(const Schema& schema, const std::vector<std::string>& path) {
  fields_.push_back({path, &schema});
  const auto below = [&](const std::string& step) {
    std::vector<std::string> longer = path;
    longer.push_back(step);
    return longer;
  };
  if (path.back() == "template") return;
  if (schema.contains("items")) Collect(schema["items"], below("[]"));
  if (!schema.contains("properties")) return;
  for (const auto& [name, field] : schema["properties"].items()) Collect(field, below(name));
}

// SplitMix64 (Steele, Lea, Flood 2014): the same numbers with every standard library.
uint64_t JobFuzzer::Below(uint64_t limit) {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) % limit;
}

FuzzedJob JobFuzzer::Next() {
  FuzzedJob job{Base(), {}};
  for (uint64_t edits = Below(5); edits > 0; --edits) Edit(job);
  return job;
}

Json JobFuzzer::Base() {
  Json model = {{"torchScript", "cnn.pt"}};
  if (OneIn(3)) model = {{"builtIn", "Softmax"}, {"inputShape", {1, 8, 8}}, {"classes", 10}};
  Json spec = {{"model", model},
               {"data", {{"train", "train.safetensors"}}},
               {"training",
                {{"globalBatchSize", 1 + Below(4096)},
                 {"learningRate", {{"base", 0.05}}},
                 {"stop", {{"maxEpochs", 1 + Below(20)}}}}}};
  if (OneIn(2)) spec["data"]["eval"] = "test.safetensors";
  if (OneIn(2)) spec["workers"]["replicas"] = 1 + Below(4);
  if (OneIn(4)) spec["checkpoint"] = {{"volume", {{"emptyDir", Json::object()}}}};
  return {{"apiVersion", kApiVersion},
          {"kind", kKind},
          {"metadata", {{"name", fmt::format("fuzz-{}-{}", seed_, count_++)}}},
          {"spec", std::move(spec)}};
}

void JobFuzzer::Edit(FuzzedJob& job) {
  const Field& field = fields_[1 + Below(fields_.size() - 1)];  // Not the whole spec.
  const std::string path = fmt::format("{}", fmt::join(field.path, "."));
  Json& place = At(job.object, field.path);
  if (OneIn(8)) {
    place = Hostile();
  } else if (OneIn(12) && !IsOpaque(*field.schema)) {
    place = Json::object({{"unheardOf", Hostile()}});
  } else {
    place = Allowed(*field.schema);
  }
  job.edits.push_back(fmt::format("{} = {}", path, Shown(place)));
}

Json JobFuzzer::Allowed(const Schema& schema) {
  if (schema.contains("properties") && schema["properties"].contains("spec")) return PodTemplate();
  if (schema.contains("x-kubernetes-int-or-string")) {
    if (!schema.value("pattern", "").starts_with("^(All")) return Seconds(schema);
    static constexpr const char* kQuorums[] = {"All", "DBW", "BSP", "3"};
    return OneIn(2) ? Number(schema) : Json(kQuorums[Below(std::size(kQuorums))]);
  }
  const std::string type = schema["type"];
  if (type == "boolean") return OneIn(2);
  if (type == "integer" || type == "number") return Number(schema);
  if (type == "string") return Text(schema);
  if (type == "array") {
    Json list = Json::array();
    for (uint64_t n = Below(4); n > 0; --n) list.push_back(Allowed(schema["items"]));
    return list;
  }
  Json object = Json::object();
  if (IsOpaque(schema) && !schema.contains("properties")) {
    if (OneIn(2)) object["sizeLimit"] = "1Gi";
    return object;
  }
  const uint64_t properties = schema.contains("properties") ? schema["properties"].size() : 0;
  const uint64_t chosen = Below(std::max<uint64_t>(properties, 1));
  uint64_t i = 0;
  if (properties == 0) return object;
  const bool has_one = schema.contains("maxProperties");  // A volume has one source.
  for (const auto& [name, field] : schema["properties"].items()) {
    const bool is_required = schema.contains("required") &&
                             std::find(schema["required"].begin(), schema["required"].end(),
                                       name) != schema["required"].end();
    const bool is_chosen = i++ == chosen;
    if (is_required || is_chosen || (!has_one && OneIn(4))) object[name] = Allowed(field);
  }
  return object;
}

Json JobFuzzer::Number(const Schema& schema) {
  const double least = schema.value("minimum", 0.0);
  const double most = schema.value("maximum", 1e9);
  const bool is_whole = schema.value("type", "integer") == "integer";
  if (is_whole) {
    const auto low = static_cast<int64_t>(least), high = static_cast<int64_t>(most);
    if (OneIn(6)) return low;
    if (OneIn(6)) return high;
    const uint64_t span = std::min<uint64_t>(static_cast<uint64_t>(high - low), 20) + 1;
    return low + static_cast<int64_t>(Below(span));
  }
  if (OneIn(6) && !schema.value("exclusiveMinimum", false)) return least;
  if (OneIn(6) && !schema.value("exclusiveMaximum", false)) return most;
  return least + (std::min(most, least + 100) - least) * static_cast<double>(1 + Below(98)) / 100;
}

// A number, or a duration that its schema may take or not.
Json JobFuzzer::Seconds(const Schema& schema) {
  if (OneIn(2)) return Number(schema);
  static constexpr const char* kTexts[] = {"1h30m",        "90s",
                                           "500ms",        "1.5h",
                                           "0s",           "0.5m",
                                           "2000ms",       "1s500ms",
                                           "24h",          "277777h46m40s",
                                           "999999999.5s", "1000000000s0.000001ms",
                                           "9999999999h",  "1h 30m",
                                           "-5s",          "+5s",
                                           "90",           "1.s",
                                           "1e3s",         "1.0000000s",
                                           "30m1h",        "1d",
                                           "1h\n",         "1\xc2\xb5s"};
  return kTexts[Below(std::size(kTexts))];
}

std::string JobFuzzer::Text(const Schema& schema) {
  if (schema.contains("enum")) return schema["enum"][Below(schema["enum"].size())];
  const uint64_t longest = schema.value("maxLength", 63);
  if (OneIn(10)) return std::string(longest, 'x');
  static constexpr const char* kTexts[] = {
      "a",       "cnn.pt",   "train.safetensors",    "inputs.npy", "tokens.bin",  "team/queue",
      "$(HOME)", "../../up", "\xc3\xbcml\xc3\xa4ut", " ",          "{{.Values}}", "0"};
  return kTexts[Below(std::size(kTexts))];
}

// What does not belong anywhere in particular.
Json JobFuzzer::Hostile() {
  switch (Below(12)) {
    case 0:
      return nullptr;
    case 1:
      return -1;
    case 2:
      return std::numeric_limits<int64_t>::max();
    case 3:
      return 1e300;
    case 4:
      return 0.5;
    case 5:
      return "";
    case 6:
      return std::string(5000, 'y');
    case 7:
      return Json::array({1, "two", nullptr});
    case 8:
      return Json::object({{"a", {{"b", {{"c", Json::array()}}}}}});
    case 9:
      return true;
    case 10:
      return "\n\t\xe2\x80\xae\"'\\";
    default:
      return "Unknown";
  }
}

Json JobFuzzer::PodTemplate() {
  Json container = {{"name", OneIn(2) ? "worker" : "side"}};
  if (OneIn(2)) container["image"] = OneIn(2) ? "nowhere.invalid/none:1" : "UPPER CASE";
  if (OneIn(2)) container["resources"] = {{"limits", {{"nvidia.com/gpu", OneIn(2) ? "1" : "-1"}}}};
  if (OneIn(3))
    container["env"] = Json::array({{{"name", "A"}, {"value", Text({{"maxLength", 9}})}}});
  if (OneIn(3)) container["command"] = Hostile();
  if (OneIn(4)) container["securityContext"] = {{"privileged", true}, {"runAsUser", 0}};
  if (OneIn(4)) container["volumeMounts"] = Hostile();
  Json spec = {{"containers", Json::array({container})}};
  if (OneIn(3)) spec["nodeSelector"] = {{"pool", "spot"}};
  if (OneIn(4)) spec["tolerations"] = Hostile();
  if (OneIn(4)) spec["volumes"] = Hostile();
  if (OneIn(4)) spec["hostNetwork"] = true;
  if (OneIn(6)) spec["unheardOf"] = Hostile();
  Json result = {{"spec", spec}};
  if (OneIn(3)) result["metadata"] = {{"labels", OneIn(2) ? Hostile() : Json{{"team", "vision"}}}};
  return result;
}

}  // namespace paceline::job::testing
