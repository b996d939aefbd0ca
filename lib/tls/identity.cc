#include "lib/tls/identity.h"

#include <charconv>

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

std::string NameOf(const Identity& identity, std::string_view job, std::string_view job_namespace) {
  const std::string_view role = ToString(identity.role);
  if (!HasIndex(identity.role)) return fmt::format("{}.{}.{}", role, job, job_namespace);
  return fmt::format("{}-{}.{}.{}", role, identity.index, job, job_namespace);
}

std::optional<Identity> IdentityOf(std::string_view name, std::string_view job,
                                   std::string_view job_namespace) {
  const std::string_view process = name.substr(0, name.find('.'));
  for (const Role role : {Role::kPs, Role::kWorker, Role::kEvaluator, Role::kOperator}) {
    if (!process.starts_with(ToString(role))) continue;
    Identity identity{.role = role};
    if (HasIndex(role)) {
      const std::string_view index = process.substr(ToString(role).size());
      if (!index.starts_with('-')) continue;
      std::from_chars(index.data() + 1, index.data() + index.size(), identity.index);
    }
    // Written again, it must be the same: there is one name for each.
    if (NameOf(identity, job, job_namespace) == name) return identity;
  }
  return std::nullopt;
}

}  // namespace paceline::tls
