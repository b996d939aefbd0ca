// Tells visitors of Fields what kind of value a member is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "lib/base/time.h"
#include "lib/job/manifest/node.h"
#include "lib/job/manifest/values/quorum_field.h"

namespace paceline::job {

template <class T>
struct OptionalOf {
  using Type = void;
};
template <class T>
struct OptionalOf<std::optional<T>> {
  using Type = T;
};
template <class T>
inline constexpr bool kIsOptional = !std::is_void_v<typename OptionalOf<T>::Type>;

template <class T>
struct ListOf {
  using Type = void;
};
template <class T>
struct ListOf<std::vector<T>> {
  using Type = T;
};
template <class T>
inline constexpr bool kIsList = !std::is_void_v<typename ListOf<T>::Type>;

using StringMap = std::map<std::string, std::string>;

template <class T>
inline constexpr bool kIsNumber = std::is_same_v<T, int64_t> || std::is_same_v<T, double>;

// A value without parts. Everything else that is neither optional nor a list has Fields.
template <class T>
inline constexpr bool kIsLeaf =
    kIsNumber<T> || std::is_same_v<T, bool> || std::is_enum_v<T> ||
    std::is_same_v<T, std::string> || std::is_same_v<T, StringMap> || std::is_same_v<T, Node> ||
    std::is_same_v<T, Time> || std::is_same_v<T, QuorumField>;

inline std::string Join(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

}  // namespace paceline::job
