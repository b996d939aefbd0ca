#include "lib/tls/identity.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace paceline::tls {
namespace {

// A process within its job: "worker-3" is (worker, 3). One of which there is one has no index.
struct Process {
  std::string_view group;
  std::optional<uint64_t> index;
};

std::string Write(const Process& process) {
  if (!process.index) return std::string(process.group);
  return fmt::format("{}-{}", process.group, *process.index);
}

// What Write gives, and more that it does not.
Process Read(std::string_view text) {
  const size_t dash = text.rfind('-');
  if (dash == std::string_view::npos) return {text, std::nullopt};
  uint64_t index = 0;
  std::from_chars(text.data() + dash + 1, text.data() + text.size(), index);
  return {text.substr(0, dash), index};
}

std::optional<Role> RoleOf(std::string_view group) {
  for (const Role role : {Role::kPs, Role::kWorker, Role::kEvaluator, Role::kOperator}) {
    if (GroupOf(role) == group) return role;
  }
  return std::nullopt;
}

// Whether workers may be called so (docs/adr/0049): no role's own group, and without '-'.
bool IsGroupOfWorkers(std::string_view group) {
  const auto is_letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !group.empty() && is_letter(group.front()) &&
         std::all_of(group.begin(), group.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

std::string_view GroupOf(Role role) {
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
  Process process{.group = identity.group.empty() ? GroupOf(identity.role)
                                                  : std::string_view(identity.group)};
  if (HasIndex(identity.role)) process.index = identity.index;
  return fmt::format("{}.{}.{}", Write(process), job, job_namespace);
}

std::optional<Identity> IdentityOf(std::string_view name, std::string_view job,
                                   std::string_view job_namespace) {
  const Process process = Read(name.substr(0, name.find('.')));
  const std::optional<Role> role = RoleOf(process.group);
  if (!role && !IsGroupOfWorkers(process.group)) return std::nullopt;
  const Identity identity{.role = role.value_or(Role::kWorker),
                          .index = process.index.value_or(0),
                          .group = role ? "" : std::string(process.group)};
  // Written again, it must be the same: there is one name for each.
  if (NameOf(identity, job, job_namespace) != name) return std::nullopt;
  return identity;
}

}  // namespace paceline::tls
