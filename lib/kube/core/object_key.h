// Defines ObjectKey, namespace and name of an object: what informers index and queues hold.
//
// Example:
//   ObjectKey key{"team-a", "digits"};
//   fmt::format("{}", key)            // "team-a/digits"; "digits" for what has no namespace
//   ObjectKey::Parse("team-a/digits")
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/status.h"

namespace paceline::kube {

struct ObjectKey {
  std::string name_space;  // Empty for cluster-scoped objects.
  std::string name;

  // "namespace/name" or "name". InvalidArgument for other shapes.
  static StatusOr<ObjectKey> Parse(std::string_view text);

  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;
};

std::string ToString(const ObjectKey& key);

}  // namespace paceline::kube

template <>
struct std::hash<paceline::kube::ObjectKey> {
  size_t operator()(const paceline::kube::ObjectKey& key) const noexcept {
    return std::hash<std::string>{}(key.name_space) * 31 + std::hash<std::string>{}(key.name);
  }
};

template <>
struct fmt::formatter<paceline::kube::ObjectKey> : fmt::formatter<std::string> {
  auto format(const paceline::kube::ObjectKey& key, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(paceline::kube::ToString(key), context);
  }
};
