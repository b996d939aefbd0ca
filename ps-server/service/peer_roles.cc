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
namespace {

// "worker-N.digits.default" stands for every worker of the job.
std::string WantedName(tls::Role role, const std::string& job, const std::string& job_namespace) {
  return fmt::format("{}{}.{}.{}", tls::GroupOf(role), tls::HasIndex(role) ? "-N" : "", job,
                     job_namespace);
}

Status Refuse(const std::string& peer, Status refusal) {
  telemetry::Log(telemetry::LogLevel::kWarning, "peer refused",
                 {{"peer", peer}, {"reason", Message(refusal)}});
  return refusal;
}

}  // namespace

Status Peer::Check(const tls::Identity& claimed) const {
  if (!identity_ || *identity_ == claimed) return OkStatus();
  // The rest of the name is the job, which is the same.
  const std::string want = tls::NameOf(claimed, "", "");
  return Refuse(address_,
                PermissionDenied("certificate names another process: got {}, want {}", name_,
                                 want.substr(0, want.find('.')) + name_.substr(name_.find('.'))));
}

PeerRoles::PeerRoles(std::string job, std::string job_namespace)
    : job_(Job{std::move(job), std::move(job_namespace)}) {}

StatusOr<Peer> PeerRoles::Check(const grpc::CallbackServerContext& context,
                                std::initializer_list<tls::Role> welcome) const {
  if (!job_) return Peer();
  std::vector<std::string> names;
  if (const auto auth = context.auth_context(); auth != nullptr) {
    for (const grpc::string_ref& name : auth->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME))
      names.emplace_back(name.data(), name.size());
  }
  for (std::string& name : names) {
    const auto identity = tls::IdentityOf(name, job_->name, job_->name_space);
    if (identity && std::find(welcome.begin(), welcome.end(), identity->role) != welcome.end())
      return Peer(*identity, std::move(name), context.peer());
  }
  std::vector<std::string> wanted;
  for (const tls::Role role : welcome)
    wanted.push_back(WantedName(role, job_->name, job_->name_space));
  return Refuse(context.peer(),
                PermissionDenied("certificate names another process: got {}, want {}",
                                 fmt::join(names, " and "), fmt::join(wanted, " or ")));
}

}  // namespace paceline::ps
