#include "lib/job/process_name.h"

#include <algorithm>
#include <charconv>

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

std::optional<NamedProcess> ReadProcessName(std::string_view job, std::string_view name) {
  if (!name.starts_with(job) || !name.substr(job.size()).starts_with('-')) return std::nullopt;
  std::string_view group = name.substr(job.size() + 1);
  int64_t index = 0;
  if (group != GroupOf(Role::kEvaluator)) {
    const size_t dash = group.rfind('-');
    if (dash == std::string_view::npos) return std::nullopt;
    const std::string_view number = group.substr(dash + 1);
    std::from_chars(number.data(), number.data() + number.size(), index);
    group = group.substr(0, dash);
  }
  NamedProcess named{.role = Role::kWorker, .id = {.group = std::string(group), .index = index}};
  if (group == GroupOf(Role::kParameterServer))
    named.role = Role::kParameterServer;
  else if (group == GroupOf(Role::kEvaluator))
    named.role = Role::kEvaluator;
  else if (group != GroupOf(Role::kWorker) && !IsGroupName(group))
    return std::nullopt;
  if (ProcessName(job, named.id) != name) return std::nullopt;  // "digits-worker-03".
  return named;
}

}  // namespace paceline::job
