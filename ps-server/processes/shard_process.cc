#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "lib/process/termination.h"
#include "lib/rpc/control/shard_session.h"
#include "lib/telemetry/clock.h"
#include "lib/telemetry/http_endpoint.h"
#include "lib/telemetry/log.h"
#include "ps-server/advertised_address.h"
#include "ps-server/checkpoints.h"
#include "ps-server/job_options.h"
#include "ps-server/job_tls.h"
#include "ps-server/port_file.h"
#include "ps-server/processes/processes.h"
#include "ps-server/processes/sharing.h"
#include "ps-server/service/grpc_server.h"
#include "ps-server/service/shard_service.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {
namespace {

using telemetry::Log;
using telemetry::LogLevel;
using telemetry::SteadyNow;

constexpr Duration kHeartbeatPeriod = std::chrono::seconds(1);
constexpr Duration kAttemptTimeout = std::chrono::seconds(12);  // To connect.
constexpr Duration kBackoffMin = std::chrono::milliseconds(100);
constexpr Duration kBackoffMax = std::chrono::seconds(2);
// Asked to go, it is still of use for so long: all processes of a job may be asked at once, and the
// coordinator then wants a checkpoint.
constexpr Duration kUsefulAfterSigterm = std::chrono::seconds(20);

// No other session would end otherwise.
bool IsRefusal(const Status& status) {
  return status.code() == StatusCode::kPermissionDenied ||
         status.code() == StatusCode::kInvalidArgument;
}

// The shard's line to the coordinator, over any number of sessions.
class CoordinatorLine {
 public:
  CoordinatorLine(const Options& options, rpc::ChannelOptions channel, std::string address)
      : options_(options), channel_(std::move(channel)), address_(std::move(address)) {}

  // Dropped where there is no session: the next one begins with Register, and all it means.
  void Say(protocol::ShardMessage message) {
    std::shared_ptr<rpc::ShardSession> session;
    {
      std::lock_guard lock(mutex_);
      session = session_;
    }
    if (session != nullptr) (void)session->Send(std::move(message));
  }

  void AskToStop() {
    std::lock_guard lock(mutex_);
    if (!give_up_at_) give_up_at_ = SteadyNow() + kUsefulAfterSigterm;
  }

  // Until the coordinator says stop (OK), or SIGTERM (Cancelled), or nobody coordinates any more
  // (Unavailable): it may be started again, on another machine perhaps.
  Status Serve(ShardHost& host) {
    Time heard = SteadyNow();
    Duration backoff = kBackoffMin;
    while (true) {
      has_heard_ = false;
      const Status end = ServeOnce(host);
      if (end.ok()) return end;
      if (IsAskedToStop()) return Cancelled("asked to stop");
      if (IsRefusal(end)) return end;
      if (has_heard_) {
        heard = SteadyNow();
        backoff = kBackoffMin;
      } else if (SteadyNow() - heard >= options_.connect_timeout) {
        return Unavailable("coordinator lost for {:g} s: {}", ToSeconds(options_.connect_timeout),
                           Message(end));
      }
      Log(LogLevel::kWarning, "coordinator lost, registering anew", {{"reason", Message(end)}});
      std::this_thread::sleep_for(backoff);
      backoff = std::min(backoff * 2, kBackoffMax);
    }
  }

 private:
  bool IsAskedToStop() const {
    std::lock_guard lock(mutex_);
    return give_up_at_.has_value();
  }
  bool IsPatienceOver() const {
    std::lock_guard lock(mutex_);
    return give_up_at_ && SteadyNow() >= *give_up_at_;
  }

  // OK: the coordinator said stop.
  Status ServeOnce(ShardHost& host) {
    PACELINE_ASSIGN_OR_RETURN(
        std::unique_ptr<rpc::ShardSession> made,
        rpc::ShardSession::Connect(options_.coordinator,
                                   std::min(options_.connect_timeout, kAttemptTimeout), channel_));
    const std::shared_ptr<rpc::ShardSession> session = std::move(made);
    session->HandTo([this, &host](const protocol::ShardOrder& order) {
      has_heard_ = true;
      if (std::holds_alternative<protocol::StopShard>(order)) return false;
      host.Order(order);
      return true;
    });
    {
      // What the host says from here on comes after Register.
      std::lock_guard lock(mutex_);
      PACELINE_RETURN_IF_ERROR(session->Send(protocol::Register{ShardId(options_.rank), address_}));
      session_ = session;
    }
    const Status end = WaitForStop(*session, host);
    {
      std::lock_guard lock(mutex_);
      session_.reset();
    }
    session->Close();  // Nothing of this session is handed to the host any more.
    return end;
  }

  // Stop is the only order that comes out of the session.
  Status WaitForStop(rpc::ShardSession& session, const ShardHost& host) {
    while (!IsPatienceOver()) {
      const StatusOr<protocol::ShardOrder> order = session.Receive(kHeartbeatPeriod);
      if (!order.ok() && order.status().code() == StatusCode::kDeadlineExceeded) {
        PACELINE_RETURN_IF_ERROR(session.Send(host.Heartbeat()));
        continue;
      }
      return order.status();
    }
    return Cancelled("asked to stop");
  }

  const Options& options_;
  const rpc::ChannelOptions channel_;
  const std::string address_;
  std::atomic<bool> has_heard_ = false;  // An order, in this session.
  mutable std::mutex mutex_;
  std::shared_ptr<rpc::ShardSession> session_;  // From Register on.
  std::optional<Time> give_up_at_;              // Once asked to stop.
};

}  // namespace

Status RunShard(const Options& options, const job::TrainingJob& job) {
  PACELINE_ASSIGN_OR_RETURN(const JobTls tls, LoadJobTls(options.tls_folder, job, options.rank));
  telemetry::Metrics metrics;
  ShardMetrics shard_metrics(&metrics);
  CoordinatorLine* told = nullptr;
  std::unique_ptr<CoordinatorLine> line;
  ShardHost host([&told](protocol::ShardMessage message) { told->Say(std::move(message)); },
                 &shard_metrics, SlicePlaceFrom(options, job), MemoryFrom(options, job));
  ShardService service(host, tls.peers, TransferIdleFrom(job));
  PACELINE_ASSIGN_OR_RETURN(const std::unique_ptr<GrpcServer> server,
                            GrpcServer::Start({.address = options.listen,
                                               .services = {&service},
                                               .credentials = tls.server,
                                               .keepalive_timeout = KeepaliveTimeoutFrom(job)}));
  PACELINE_ASSIGN_OR_RETURN(const std::string address,
                            AdvertisedAddress(options, server->address()));
  const std::unique_ptr<MemoryService> memory = ShareMemory(options, job, host);
  line = std::make_unique<CoordinatorLine>(options, tls.to_ps, address);
  told = line.get();
  PACELINE_ASSIGN_OR_RETURN(
      const auto endpoint,
      telemetry::HttpEndpoint::Start(
          {.host = options.http_host,
           .port = options.http_port,
           .routes = {telemetry::MetricsRoute(metrics), telemetry::HealthRoute(),
                      telemetry::ReadinessRoute([] { return OkStatus(); })}}));
  PACELINE_RETURN_IF_ERROR(WritePort(options.http_port_file, endpoint->port()));
  Log(LogLevel::kInfo, "serving a shard", {{"rank", options.rank}, {"address", address}});
  const process::TerminationSignals signals([&line] { line->AskToStop(); });
  const Status end = line->Serve(host);
  endpoint->Stop();
  server->Stop(std::chrono::seconds(2));
  return end;
}

}  // namespace paceline::ps
