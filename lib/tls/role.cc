#include "lib/tls/role.h"

#include <fmt/format.h>

namespace paceline::tls {

std::string_view ToString(Role role) {
  switch (role) {
    case Role::kPs:
      return "ps";
    case Role::kWorker:
      return "worker";
    case Role::kEvaluator:
      return "evaluator";
    case Role::kOperator:
      return "operator";
  }
  return "unknown";
}

std::string RoleName(Role role, std::string_view job, std::string_view job_namespace) {
  return fmt::format("{}.{}.{}", ToString(role), job, job_namespace);
}

}  // namespace paceline::tls
