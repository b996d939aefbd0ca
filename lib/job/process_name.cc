#include "lib/job/process_name.h"

#include <algorithm>

#include <fmt/format.h>

namespace paceline::job {

std::string_view GroupOf(Role role) { return ToWord(role); }

ProcessId IdOf(Role role, int64_t index, std::string_view group) {
  return {.group = std::string(group.empty() ? GroupOf(role) : group), .index = index};
}

bool IsGroupName(std::string_view name) {
  constexpr std::string_view kTaken[] = {"ps", "worker", "evaluator", "operator"};
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && is_letter(name.front()) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9');
  }) && std::ranges::find(kTaken, name) == std::end(kTaken);
}

std::string ProcessName(std::string_view job, const ProcessId& process) {
  if (process.group == GroupOf(Role::kEvaluator)) return fmt::format("{}-{}", job, process.group);
  return fmt::format("{}-{}-{}", job, process.group, process.index);
}

std::string ProcessName(std::string_view job, Role role, int64_t index, std::string_view group) {
  return ProcessName(job, IdOf(role, index, group));
}

}  // namespace paceline::job
