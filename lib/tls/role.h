// Defines Role and RoleName: the names by which the processes of a job know each other.
#pragma once

#include <string>
#include <string_view>

namespace paceline::tls {

enum class Role { kPs, kWorker, kEvaluator, kOperator };

std::string_view ToString(Role role);  // "ps", "worker", "evaluator", "operator".

// The DNS name in the certificate of a role, "worker.digits.default". It is never resolved: peers
// verify it whatever the address is.
std::string RoleName(Role role, std::string_view job, std::string_view job_namespace);

}  // namespace paceline::tls
