#include "operator/objects/mend.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "lib/kube/core/metadata.h"
#include "operator/objects/names.h"

namespace paceline::controller {
namespace {

constexpr std::string_view kOurPrefix = "paceline.dev/";
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
void LeaveShared(const Json& live, const Json& wanted, Json& patch) {
  const std::string mark = kube::Annotation(wanted, std::string(kWantedAnnotation));
  const bool is_written_anew =
      !mark.empty() && kube::Annotation(live, std::string(kWantedAnnotation)) != mark;
  const auto is_shared = [&](const std::string& key) {
    return key.starts_with(kSharedPrefix) || (!is_written_anew && !key.starts_with(kOurPrefix));
  };
  for (const char* const kind : {"/metadata/labels", "/metadata/annotations"}) {
    const Json::json_pointer place(kind);
    if (!patch.contains(place) || !live.contains(place)) continue;
    const Json& there = live.at(place);
    Json& ours = patch[place];
    for (auto one = ours.begin(); one != ours.end();) {
      const bool stays = is_shared(one.key()) && there.contains(one.key());
      one = stays ? ours.erase(one) : std::next(one);
    }
    if (ours.empty()) patch["metadata"].erase(place.back());
  }
  if (patch.contains("metadata") && patch["metadata"].empty()) patch.erase("metadata");
}

}  // namespace

std::optional<Json> PatchTowards(const Json& live, const Json& wanted) {
  Json patch = Difference(live, wanted, Others::kStay);
  LeaveShared(live, wanted, patch);
  if (patch.empty()) return std::nullopt;
  patch["metadata"]["resourceVersion"] = kube::ResourceVersion(live);
  return patch;
}

}  // namespace paceline::controller
