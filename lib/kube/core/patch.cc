#include "lib/kube/core/patch.h"

namespace paceline::kube {

Json MergePatchBetween(const Json& before, const Json& after) {
  if (!before.is_object() || !after.is_object()) return after;
  Json patch = Json::object();
  for (const auto& [name, value] : before.items()) {
    if (!after.contains(name)) patch[name] = nullptr;
  }
  for (const auto& [name, value] : after.items()) {
    const auto held = before.find(name);
    if (held == before.end()) {
      patch[name] = value;
    } else if (held->is_object() && value.is_object()) {
      Json inner = MergePatchBetween(*held, value);
      if (!inner.empty()) patch[name] = std::move(inner);
    } else if (*held != value) {
      patch[name] = value;
    }
  }
  return patch;
}

bool IsEmptyPatch(const Json& patch) { return patch.is_object() && patch.empty(); }

}  // namespace paceline::kube
