// Defines JobTls: how a parameter server process proves its role, and demands others'.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/job/training_job.h"
#include "lib/rpc/channel.h"
#include "lib/telemetry/http_endpoint.h"
#include "lib/tls/sessions.h"
#include "ps-server/service/peer_roles.h"

namespace grpc {
class ServerCredentials;
}  // namespace grpc

namespace paceline::ps {

struct JobTls {
  PeerRoles peers;                                          // Whom the services let in.
  rpc::ChannelOptions to_ps;                                // Connections to other shards.
  std::shared_ptr<grpc::ServerCredentials> server;          // Null: plain text.
  std::shared_ptr<tls::ServerIdentity> identity;            // Of the API; null: there is none.
  std::optional<telemetry::HttpsHooks> api = std::nullopt;  // Lets the operator and shards in.
};

// Plain text where `folder` is empty. Otherwise the role's files in it; FailedPrecondition if the
// certificate is not one of this job's parameter server, and ReadTlsFolder's errors.
StatusOr<JobTls> LoadJobTls(const std::string& folder, const job::TrainingJob& job);

}  // namespace paceline::ps
