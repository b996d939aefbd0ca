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
  return FailedPrecondition("{} is of another role or job: names {}, want {}",
                            folder.certificate_file(), fmt::join(own.dns_names, " and "), name);
}

telemetry::HttpsHooks ApiHooks(std::shared_ptr<tls::ServerIdentity> identity,
                               std::vector<std::string> welcome) {
  return {.set_up = [identity](ssl_ctx_st* context) { return identity->SetUp(context); },
          .admit = [welcome](const ssl_st* session) -> Status {
            const std::vector<std::string> names = tls::PeerDnsNames(session);
            for (const std::string& name : names) {
              if (Holds(welcome, name)) return OkStatus();
            }
            return PermissionDenied("certificate names another role: got {}, want {}",
                                    fmt::join(names, " and "), fmt::join(welcome, " or "));
          }};
}

}  // namespace

StatusOr<JobTls> LoadJobTls(const std::string& folder, const job::TrainingJob& job) {
  if (folder.empty()) return JobTls{};
  const auto name_of = [&job](tls::Role role) {
    return tls::RoleName(role, job.metadata.name, job.metadata.name_space);
  };
  const tls::TlsFolder files{folder};
  PACELINE_RETURN_IF_ERROR(CheckOwnName(files, name_of(tls::Role::kPs)));
  PACELINE_ASSIGN_OR_RETURN(const rpc::TlsCredentials credentials, rpc::LoadTlsCredentials(files));
  PACELINE_ASSIGN_OR_RETURN(
      std::shared_ptr<tls::ServerIdentity> identity,
      tls::ServerIdentity::Load(files, [](const std::string& reason) {
        telemetry::Log(telemetry::LogLevel::kWarning, "API refused a peer", {{"reason", reason}});
      }));
  return JobTls{
      .peers = PeerRoles(job.metadata.name, job.metadata.name_space),
      .to_ps = {.credentials = credentials.channel, .peer_name = name_of(tls::Role::kPs)},
      .server = credentials.server,
      .identity = identity,
      .api = ApiHooks(identity, {name_of(tls::Role::kOperator), name_of(tls::Role::kPs)})};
}

}  // namespace paceline::ps
