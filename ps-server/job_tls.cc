#include "ps-server/job_tls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "lib/rpc/tls_credentials.h"
#include "lib/telemetry/log.h"
#include "lib/tls/certificate.h"

namespace paceline::ps {
namespace {

bool Holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status CheckOwnName(const tls::TlsFolder& folder, const std::string& name) {
  PACELINE_ASSIGN_OR_RETURN(const tls::TlsFiles files, tls::ReadTlsFolder(folder));
  PACELINE_ASSIGN_OR_RETURN(const tls::Certificate own,
                            tls::ReadCertificate(files.credential.certificate));
  if (Holds(own.dns_names, name)) return OkStatus();
  return FailedPrecondition("{} is another process's: names {}, want {}", folder.certificate_file(),
                            fmt::join(own.dns_names, " and "), name);
}

bool MayUseApi(const tls::Identity& identity) {
  return identity.role == tls::Role::kOperator || identity.role == tls::Role::kPs;
}

telemetry::HttpsHooks ApiHooks(std::shared_ptr<tls::ServerIdentity> identity,
                               const job::Metadata& job) {
  return {.set_up = [identity](ssl_ctx_st* context) { return identity->SetUp(context); },
          .admit = [name = job.name, name_space = job.name_space](const ssl_st* session) -> Status {
            const std::vector<std::string> names = tls::PeerDnsNames(session);
            for (const std::string& one : names) {
              const auto peer = tls::IdentityOf(one, name, name_space);
              if (peer && MayUseApi(*peer)) return OkStatus();
            }
            return PermissionDenied(
                "certificate names another process: got {}, want operator.{}.{} or a ps of it",
                fmt::join(names, " and "), name, name_space);
          }};
}

}  // namespace

StatusOr<JobTls> LoadJobTls(const std::string& folder, const job::TrainingJob& job, uint32_t rank) {
  if (folder.empty()) return JobTls{};
  const auto name_of = [name = job.metadata.name,
                        name_space = job.metadata.name_space](ShardId shard) {
    return tls::NameOf({tls::Role::kPs, shard.value()}, name, name_space);
  };
  const tls::TlsFolder files{folder};
  PACELINE_RETURN_IF_ERROR(CheckOwnName(files, name_of(ShardId(rank))));
  PACELINE_ASSIGN_OR_RETURN(const rpc::TlsCredentials credentials, rpc::LoadTlsCredentials(files));
  PACELINE_ASSIGN_OR_RETURN(
      std::shared_ptr<tls::ServerIdentity> identity,
      tls::ServerIdentity::Load(files, [](const std::string& reason) {
        telemetry::Log(telemetry::LogLevel::kWarning, "API refused a peer", {{"reason", reason}});
      }));
  return JobTls{.peers = PeerRoles(job.metadata.name, job.metadata.name_space),
                .to_ps = {.credentials = credentials.channel, .peer_names = name_of},
                .server = credentials.server,
                .identity = identity,
                .api = ApiHooks(identity, job.metadata)};
}

}  // namespace paceline::ps
