// Defines JobTls: how a parameter server process proves who it is, and demands others' proof.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/job/manifest/training_job.h"
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

// Plain text where `folder` is empty. Otherwise the files in it of the parameter server of that
// rank; FailedPrecondition if the certificate is another process's, and ReadTlsFolder's errors.
StatusOr<JobTls> LoadJobTls(const std::string& folder, const job::TrainingJob& job, uint32_t rank);

}  // namespace paceline::ps
