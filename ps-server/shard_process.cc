#include <atomic>
#include <memory>
#include <utility>

#include "lib/process/termination.h"
#include "lib/rpc/shard_session.h"
#include "lib/telemetry/http_endpoint.h"
#include "lib/telemetry/log.h"
#include "ps-server/advertised_address.h"
#include "ps-server/driver/shard_host.h"
#include "ps-server/job_tls.h"
#include "ps-server/port_file.h"
#include "ps-server/processes.h"
#include "ps-server/service/grpc_server.h"
#include "ps-server/service/shard_service.h"

namespace paceline::ps {
namespace {

using telemetry::Log;
using telemetry::LogLevel;

constexpr Duration kHeartbeatPeriod = std::chrono::seconds(1);

// Says that this shard lives until the coordinator says stop, which is the only order that comes
// out of the session.
Status WaitForStop(rpc::ShardSession& session, const std::atomic<bool>& is_asked_to_stop) {
  while (!is_asked_to_stop) {
    StatusOr<protocol::ShardOrder> order = session.Receive(kHeartbeatPeriod);
    if (!order.ok() && order.status().code() == StatusCode::kDeadlineExceeded) {
      PACELINE_RETURN_IF_ERROR(session.Send(protocol::ShardHeartbeat{}));
      continue;
    }
    if (!order.ok()) return Unavailable("coordinator lost: {}", Message(order.status()));
    return OkStatus();
  }
  return OkStatus();
}

}  // namespace

Status RunShard(const Options& options, const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const JobTls tls, LoadJobTls(options.tls_folder, job));
  PACELINE_ASSIGN_OR_RETURN(
      const std::unique_ptr<rpc::ShardSession> session,
      rpc::ShardSession::Connect(options.coordinator, options.connect_timeout, tls.to_ps));
  telemetry::Metrics metrics;
  ShardMetrics shard_metrics(&metrics);
  ShardHost host(
      [&session](protocol::ShardMessage message) {
        // An ended session shows in Receive.
        (void)session->Send(std::move(message));
      },
      &shard_metrics);
  ShardService service(host, tls.peers);
  PACELINE_ASSIGN_OR_RETURN(
      const std::unique_ptr<GrpcServer> server,
      GrpcServer::Start(
          {.address = options.listen, .services = {&service}, .credentials = tls.server}));
  PACELINE_ASSIGN_OR_RETURN(const std::string address,
                            AdvertisedAddress(options, server->address()));
  PACELINE_ASSIGN_OR_RETURN(
      const auto endpoint,
      telemetry::HttpEndpoint::Start(
          {.host = options.http_host,
           .port = options.http_port,
           .routes = {telemetry::MetricsRoute(metrics), telemetry::HealthRoute(),
                      telemetry::ReadinessRoute([] { return OkStatus(); })}}));
  PACELINE_RETURN_IF_ERROR(WritePort(options.http_port_file, endpoint->port()));
  session->HandTo([&host](const protocol::ShardOrder& order) {
    if (std::holds_alternative<protocol::StopShard>(order)) return false;
    host.Order(order);
    return true;
  });
  PACELINE_RETURN_IF_ERROR(session->Send(protocol::Register{ShardId(options.rank), address}));
  Log(LogLevel::kInfo, "serving a shard", {{"rank", options.rank}, {"address", address}});

  std::atomic<bool> is_asked_to_stop = false;
  const process::TerminationSignals signals([&] {
    is_asked_to_stop = true;
    session->Close();
  });
  const Status end = WaitForStop(*session, is_asked_to_stop);
  session->Close();  // Nothing is handed to the host any more.
  endpoint->Stop();
  server->Stop(std::chrono::seconds(2));
  return is_asked_to_stop ? OkStatus() : end;
}

}  // namespace paceline::ps
