#include "ps-server/service/peer_roles.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/ranges.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>

#include "lib/telemetry/log.h"

namespace paceline::ps {

PeerRoles::PeerRoles(std::string job, std::string job_namespace)
    : job_(Job{std::move(job), std::move(job_namespace)}) {}

Status PeerRoles::Check(const grpc::CallbackServerContext& context,
                        std::initializer_list<tls::Role> welcome) const {
  if (!job_) return OkStatus();
  std::vector<std::string> names;
  if (const auto auth = context.auth_context(); auth != nullptr) {
    for (const grpc::string_ref& name : auth->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME))
      names.emplace_back(name.data(), name.size());
  }
  std::vector<std::string> wanted;
  for (const tls::Role role : welcome)
    wanted.push_back(tls::RoleName(role, job_->name, job_->name_space));
  for (const std::string& name : names) {
    if (std::find(wanted.begin(), wanted.end(), name) != wanted.end()) return OkStatus();
  }
  Status refusal = PermissionDenied("certificate names another role: got {}, want {}",
                                    fmt::join(names, " and "), fmt::join(wanted, " or "));
  telemetry::Log(telemetry::LogLevel::kWarning, "peer refused",
                 {{"peer", context.peer()}, {"reason", Message(refusal)}});
  return refusal;
}

}  // namespace paceline::ps
