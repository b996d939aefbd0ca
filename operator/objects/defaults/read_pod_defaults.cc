#include "operator/objects/defaults/read_pod_defaults.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/json_text.h"
#include "lib/job/checks/object_name.h"
#include "lib/job/manifest/encode.h"
#include "lib/job/manifest/yaml.h"
#include "operator/objects/defaults/reserved_keys.h"
#include "operator/objects/json_at.h"

namespace paceline::controller {
namespace {

constexpr size_t kBytesMax = 64 << 10;  // It lies in an annotation of each job's ConfigMap.

enum class Kind { kText, kBool, kInteger, kIntegers, kTexts, kQuantities, kAny, kObject, kList };

// What a value's text has to be beside a text: "" if it is, else what would be right.
using Rule = std::string (*)(const std::string& key, const std::string& text);

struct Field {
  const char* name;
  Kind kind;
  std::span<const Field> members = {};  // Of an object, or of each element of a list.
  Rule rule = nullptr;                  // Of a text; of each member's key and value.
};

std::string IsName(const std::string&, const std::string& text) {
  return job::IsObjectName(text) ? "" : std::string(job::kObjectNameRule);
}

std::string IsPullPolicy(const std::string&, const std::string& text) {
  const bool is_one = text == "Always" || text == "IfNotPresent" || text == "Never";
  return is_one ? "" : "must be Always, IfNotPresent or Never";
}

std::string IsRegistry(const std::string&, const std::string& text) {
  const bool is_one = !text.empty() && text.find("://") == std::string::npos &&
                      text.find_first_of(" @") == std::string::npos && text.front() != '/' &&
                      text.back() != '/';
  return is_one ? "" : "must be a registry and a path, as mirror.example.com/paceline";
}

std::string IsVariable(const std::string&, const std::string& text) {
  if (text.empty()) return "must be the name of a variable";
  return text.starts_with("PACELINE_") ? "must not be one that Paceline's programs are told by"
                                       : "";
}

std::string IsTaint(const std::string&, const std::string& text) {
  const bool is_ours =
      text == "node.kubernetes.io/not-ready" || text == "node.kubernetes.io/unreachable";
  return is_ours ? "must not be a lost node's, which spec.runPolicy.nodeLostSeconds says" : "";
}

std::string IsAnnotation(const std::string& key, const std::string&) { return WhyReserved(key); }

// Of 63 letters, digits and "-_." at most, the first and the last a letter or a digit.
bool IsLabelText(std::string_view text) {
  const auto is_alnum = [](unsigned char letter) { return std::isalnum(letter) != 0; };
  if (text.empty()) return true;
  return text.size() <= 63 && is_alnum(text.front()) && is_alnum(text.back()) &&
         std::ranges::all_of(text, [&](unsigned char letter) {
           return is_alnum(letter) || letter == '-' || letter == '_' || letter == '.';
         });
}

std::string IsSelector(const std::string& key, const std::string& text) {
  const std::string name = key.substr(key.find('/') + 1);
  if (name.empty() || !IsLabelText(name)) return "must have the key of a label";
  return IsLabelText(text) ? ""
                           : "must be a label's value, 63 letters, digits and '-', '_', '.' at "
                             "most, beginning and ending with a letter or digit";
}

std::string IsLabel(const std::string& key, const std::string& text) {
  const std::string reserved = WhyReserved(key);
  return reserved.empty() ? IsSelector(key, text) : reserved;
}

constexpr Field kSecretName[] = {{"name", Kind::kText, {}, IsName}};
constexpr Field kToleration[] = {{"key", Kind::kText, {}, IsTaint},
                                 {"operator", Kind::kText},
                                 {"value", Kind::kText},
                                 {"effect", Kind::kText},
                                 {"tolerationSeconds", Kind::kInteger}};
constexpr Field kResources[] = {{"limits", Kind::kQuantities}, {"requests", Kind::kQuantities}};
constexpr Field kVariable[] = {
    {"name", Kind::kText, {}, IsVariable}, {"value", Kind::kText}, {"valueFrom", Kind::kAny}};
constexpr Field kProfile[] = {{"type", Kind::kText}, {"localhostProfile", Kind::kText}};
constexpr Field kSeLinux[] = {
    {"user", Kind::kText}, {"role", Kind::kText}, {"type", Kind::kText}, {"level", Kind::kText}};
constexpr Field kSysctl[] = {{"name", Kind::kText}, {"value", Kind::kText}};
constexpr Field kSecurity[] = {{"runAsUser", Kind::kInteger},
                               {"runAsGroup", Kind::kInteger},
                               {"runAsNonRoot", Kind::kBool},
                               {"fsGroup", Kind::kInteger},
                               {"fsGroupChangePolicy", Kind::kText},
                               {"supplementalGroups", Kind::kIntegers},
                               {"supplementalGroupsPolicy", Kind::kText},
                               {"seLinuxOptions", Kind::kObject, kSeLinux},
                               {"seLinuxChangePolicy", Kind::kText},
                               {"seccompProfile", Kind::kObject, kProfile},
                               {"appArmorProfile", Kind::kObject, kProfile},
                               {"sysctls", Kind::kList, kSysctl}};
constexpr Field kSection[] = {{"imagePullSecrets", Kind::kList, kSecretName},
                              {"imagePullPolicy", Kind::kText, {}, IsPullPolicy},
                              {"imageRegistry", Kind::kText, {}, IsRegistry},
                              {"nodeSelector", Kind::kTexts, {}, IsSelector},
                              {"tolerations", Kind::kList, kToleration},
                              {"resources", Kind::kObject, kResources},
                              {"labels", Kind::kTexts, {}, IsLabel},
                              {"annotations", Kind::kTexts, {}, IsAnnotation},
                              {"env", Kind::kList, kVariable},
                              {"runtimeClassName", Kind::kText, {}, IsName},
                              {"priorityClassName", Kind::kText, {}, IsName},
                              {"securityContext", Kind::kObject, kSecurity}};
constexpr Field kSections[] = {{"all", Kind::kObject, kSection},
                               {"parameterServer", Kind::kObject, kSection},
                               {"workers", Kind::kObject, kSection},
                               {"evaluator", Kind::kObject, kSection}};

// Helm writes large whole numbers as 1.00068e+09.
void MakeWhole(Json& value) {
  constexpr double kFar = 1e15;  // Below which each is a double.
  if (!value.is_number_float()) return;
  const double number = value.get<double>();
  if (std::abs(number) < kFar && std::floor(number) == number) value = static_cast<int64_t>(number);
}

// Takes out of a value what is wrong with it.
class Judge {
 public:
  explicit Judge(std::vector<job::FieldError>* errors) : errors_(errors) {}

  void Members(const std::string& path, std::span<const Field> known, Json& object) {
    for (auto member = object.begin(); member != object.end();) {
      const std::string at = path.empty() ? member.key() : path + "." + member.key();
      const auto field = std::find_if(known.begin(), known.end(),
                                      [&](const Field& one) { return one.name == member.key(); });
      bool is_right = false;
      if (field == known.end()) {
        Refuse(at, "is not known", *member);
      } else {
        is_right = member->is_null() || Value(at, *field, *member);
      }
      member = is_right ? std::next(member) : object.erase(member);
    }
  }

 private:
  bool Refuse(const std::string& path, std::string_view what, const Json& value) {
    errors_->push_back({.path = path, .message = fmt::format("{}: got {}", what, JsonText(value))});
    return false;
  }

  bool Value(const std::string& path, const Field& field, Json& value) {
    switch (field.kind) {
      case Kind::kText:
        return Text(path, field, "", value);
      case Kind::kBool:
        return value.is_boolean() || Refuse(path, "must be true or false", value);
      case Kind::kInteger:
        MakeWhole(value);
        return value.is_number_integer() || Refuse(path, "must be a whole number", value);
      case Kind::kIntegers:
        return Integers(path, value);
      case Kind::kTexts:
      case Kind::kQuantities:
        return Map(path, field, value);
      case Kind::kAny:
        return value.is_object() || Refuse(path, "must be an object", value);
      case Kind::kObject:
        if (!value.is_object()) return Refuse(path, "must be an object", value);
        Members(path, field.members, value);
        return true;
      case Kind::kList:
        return List(path, field, value);
    }
    return false;
  }

  bool Text(const std::string& path, const Field& field, const std::string& key,
            const Json& value) {
    if (!value.is_string()) return Refuse(path, "must be a string", value);
    if (field.rule == nullptr) return true;
    const std::string wrong = field.rule(key, value.get<std::string>());
    return wrong.empty() || Refuse(path, wrong, value);
  }

  bool Integers(const std::string& path, Json& value) {
    if (value.is_array()) std::for_each(value.begin(), value.end(), MakeWhole);
    const bool are_right =
        value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& element) {
          return element.is_number_integer();
        });
    return are_right || Refuse(path, "must be a list of whole numbers", value);
  }

  bool Quantity(const std::string& path, Json& value) {
    MakeWhole(value);
    const std::string text = value.is_string() ? value.get<std::string>() : JsonText(value);
    const bool is_right = (value.is_string() || value.is_number()) && !text.empty() &&
                          std::isdigit(static_cast<unsigned char>(text.front())) != 0;
    return is_right || Refuse(path, "must be a quantity, as 2 or 500m or 1Gi", value);
  }

  bool Map(const std::string& path, const Field& field, Json& value) {
    if (!value.is_object()) return Refuse(path, "must be an object", value);
    for (auto member = value.begin(); member != value.end();) {
      const std::string at = fmt::format("{}[\"{}\"]", path, member.key());
      bool is_right = true;
      if (field.kind == Kind::kQuantities) {
        is_right = member->is_null() || Quantity(at, *member);
      } else if (!member->is_null()) {
        is_right = Text(at, field, member.key(), *member);
      }
      member = is_right ? std::next(member) : value.erase(member);
    }
    return true;
  }

  bool List(const std::string& path, const Field& field, Json& value) {
    if (!value.is_array()) return Refuse(path, "must be a list", value);
    Json right = Json::array();
    for (size_t i = 0; i < value.size(); ++i) {
      const std::string at = fmt::format("{}[{}]", path, i);
      const size_t before = errors_->size();
      if (!value[i].is_object()) {
        Refuse(at, "must be an object", value[i]);
        continue;
      }
      Members(at, field.members, value[i]);
      const bool needs_name = field.members.front().name == std::string_view("name");
      if (needs_name && TextAt(value[i], "name").empty() && errors_->size() == before)
        Refuse(at + ".name", "is required", value[i]);
      if (errors_->size() == before) right.push_back(std::move(value[i]));
    }
    value = std::move(right);
    return true;
  }

  std::vector<job::FieldError>* const errors_;
};

}  // namespace

ReadDefaults ReadPodDefaults(std::string_view text) {
  job::Parsed parsed = job::ParseYaml(text);
  ReadDefaults read{.defaults = {}, .errors = std::move(parsed.errors)};
  if (!read.errors.empty()) return read;
  Json sections = job::ToJson(parsed.root);
  if (sections.is_null()) return read;
  if (!sections.is_object()) {
    read.errors.push_back({.path = "", .message = "must be an object: got " + JsonText(sections)});
    return read;
  }
  Judge(&read.errors).Members("", kSections, sections);
  for (auto section = sections.begin(); section != sections.end();)
    section = section->empty() ? sections.erase(section) : std::next(section);
  if (const size_t bytes = JsonText(sections).size(); bytes > kBytesMax) {
    read.errors.push_back(
        {.path = "", .message = fmt::format("must be at most {} bytes: got {}", kBytesMax, bytes)});
    return read;
  }
  read.defaults.sections = std::move(sections);
  return read;
}

}  // namespace paceline::controller
