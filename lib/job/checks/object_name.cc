#include "lib/job/checks/object_name.h"

#include <algorithm>

namespace paceline::job {
namespace {

constexpr size_t kObjectNameMax = 253;

}  // namespace

bool IsDnsLabel(std::string_view name) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && is_alphanumeric(name.front()) && is_alphanumeric(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '-'; });
}

bool IsObjectName(std::string_view name) {
  if (name.size() > kObjectNameMax) return false;
  while (true) {
    const size_t dot = name.find('.');
    if (!IsDnsLabel(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

}  // namespace paceline::job
