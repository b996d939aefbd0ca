// Defines Identity: which process of a job a certificate speaks for, and the names that say so.
//
// Example:
//   NameOf({Role::kWorker, 3}, "digits", "default")  // "worker-3.digits.default"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::tls {

enum class Role { kPs, kWorker, kEvaluator, kOperator };

// The group of a role's processes, of workers where a job has no groups: "ps", "worker",
// "evaluator", "operator".
std::string_view GroupOf(Role role);

// Whether a job has several processes of the role, which have an index each.
constexpr bool HasIndex(Role role) { return role == Role::kPs || role == Role::kWorker; }

struct Identity {
  Role role = Role::kWorker;
  // In its group: of a shard its rank; 0 of evaluator and operator, of which there is one.
  uint64_t index = 0;
  std::string group;  // Of a worker whose job has groups; else empty, the role's own.
  friend bool operator==(const Identity&, const Identity&) = default;
};

// The DNS name in the process's certificate, of its group and its index there:
// "worker-3.digits.default", "big-3.digits.default", "evaluator.digits.default".
// It is never resolved: peers verify it whatever the address is.
std::string NameOf(const Identity& identity, std::string_view job, std::string_view job_namespace);

// Whose name it is, if it is one that NameOf gives for that job.
std::optional<Identity> IdentityOf(std::string_view name, std::string_view job,
                                   std::string_view job_namespace);

}  // namespace paceline::tls
