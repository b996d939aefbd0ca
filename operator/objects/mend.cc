#include "operator/objects/mend.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "lib/kube/core/metadata.h"

namespace paceline::controller {
namespace {

const Json::json_pointer kLabels("/metadata/labels");
constexpr std::string_view kSharedPrefix = "app.kubernetes.io/";

bool IsWhole(const std::string& member) {
  return member == "data" || member == "selector" || member == "matchLabels";
}

// What the API server leaves out when it stores it.
bool IsAbsent(const Json& value) {
  return value.is_null() || ((value.is_object() || value.is_array()) && value.empty());
}

// What the API server fills in where a list's element does not say it.
bool IsDefault(const Json& element, const std::string& name, const Json& value) {
  if (name == "protocol") return value == "TCP";
  return name == "targetPort" && element.contains("port") && value == element["port"];
}

// Of a list's element: nothing else may be in it, for there it means something else.
bool IsSame(const Json& live, const Json& wanted) {
  if (wanted.is_array()) {
    return live.is_array() && live.size() == wanted.size() &&
           std::equal(live.begin(), live.end(), wanted.begin(), IsSame);
  }
  if (!wanted.is_object() || !live.is_object()) return live == wanted;
  for (const auto& [name, value] : wanted.items()) {
    const auto found = live.find(name);
    if (found == live.end() ? !IsAbsent(value) : !IsSame(*found, value)) return false;
  }
  for (const auto& [name, value] : live.items()) {
    if (!wanted.contains(name) && !IsDefault(live, name, value)) return false;
  }
  return true;
}

enum class Others { kStay, kGo };  // Members that are not spoken of.

Json Difference(const Json& live, const Json& wanted, Others others) {
  Json patch = Json::object();
  for (const auto& [name, value] : wanted.items()) {
    const auto found = live.find(name);
    if (found == live.end()) {
      if (!IsAbsent(value)) patch[name] = value;
    } else if (value.is_object() && found->is_object()) {
      Json inner = Difference(*found, value, IsWhole(name) ? Others::kGo : Others::kStay);
      if (!inner.empty()) patch[name] = std::move(inner);
    } else if (!IsSame(*found, value)) {
      patch[name] = value;
    }
  }
  if (others == Others::kStay) return patch;
  for (const auto& [name, value] : live.items()) {
    if (!wanted.contains(name)) patch[name] = nullptr;
  }
  return patch;
}

// What somebody else has put into one of them stays: a policy would put it there again.
void LeaveSharedLabels(const Json& live, Json& patch) {
  if (!patch.contains(kLabels)) return;
  const Json& there = live.at(kLabels);
  Json& labels = patch[kLabels];
  for (auto label = labels.begin(); label != labels.end();) {
    const bool stays = label.key().starts_with(kSharedPrefix) && there.contains(label.key());
    label = stays ? labels.erase(label) : std::next(label);
  }
  if (labels.empty()) patch["metadata"].erase("labels");
  if (patch["metadata"].empty()) patch.erase("metadata");
}

}  // namespace

std::optional<Json> PatchTowards(const Json& live, const Json& wanted) {
  Json patch = Difference(live, wanted, Others::kStay);
  LeaveSharedLabels(live, patch);
  if (patch.empty()) return std::nullopt;
  patch["metadata"]["resourceVersion"] = kube::ResourceVersion(live);
  return patch;
}

}  // namespace paceline::controller
