#include "lib/job/process_name.h"

#include <fmt/format.h>

namespace paceline::job {

std::string_view GroupOf(Role role) { return ToWord(role); }

ProcessId IdOf(Role role, int64_t index) {
  return {.group = std::string(GroupOf(role)), .index = index};
}

std::string ProcessName(std::string_view job, const ProcessId& process) {
  if (process.group == GroupOf(Role::kEvaluator)) return fmt::format("{}-{}", job, process.group);
  return fmt::format("{}-{}-{}", job, process.group, process.index);
}

std::string ProcessName(std::string_view job, Role role, int64_t index) {
  return ProcessName(job, IdOf(role, index));
}

}  // namespace paceline::job
