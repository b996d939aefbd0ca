#include "lib/job/process_name.h"

#include <fmt/format.h>

namespace paceline::job {

std::string ProcessName(std::string_view job, Role role, int64_t index) {
  if (role == Role::kEvaluator) return fmt::format("{}-{}", job, ToWord(role));
  return fmt::format("{}-{}-{}", job, ToWord(role), index);
}

}  // namespace paceline::job
