#include "lib/worker/process/connections.h"

#include <algorithm>
#include <utility>

#include "lib/rpc/bulk/grpc_parameter_client.h"
#include "lib/rpc/bulk/retrying_parameter_client.h"
#include "lib/rpc/control/worker_session.h"
#include "lib/rpc/shared_memory/shared_memory_client.h"
#include "lib/telemetry/log.h"

namespace paceline::worker {
namespace {

class GrpcSession : public Session {
 public:
  explicit GrpcSession(std::shared_ptr<rpc::CoordinatorSession> session)
      : session_(std::move(session)) {}
  Status Send(const protocol::WorkerMessage& message) override { return session_->Send(message); }
  StatusOr<protocol::WorkerOrder> Receive(Duration timeout) override {
    return session_->Receive(timeout);
  }
  std::optional<std::string> expelled() const override { return session_->expelled(); }
  void OnInterrupt(std::function<void(Sequence)> interrupt) override {
    session_->OnInterrupt(std::move(interrupt));
  }
  void Close() override { session_->Close(); }

 private:
  const std::shared_ptr<rpc::CoordinatorSession> session_;
};

bool AreOfThisMachine(const std::vector<protocol::ShardAddress>& shards) {
  return std::ranges::all_of(shards, [](const protocol::ShardAddress& shard) {
    return shard.address.starts_with("unix:");
  });
}

// With memory in the place of sockets, where that can be; the log says which.
std::unique_ptr<rpc::ParameterClient> WithSharedMemory(
    rpc::SharedMemoryClientOptions options, const WireTypes& types,
    std::unique_ptr<rpc::ParameterClient> sockets) {
  using telemetry::Log;
  using telemetry::LogLevel;
  auto shared = rpc::SharedMemoryClient::Create(std::move(options), sockets);
  if (!shared.ok()) {
    Log(LogLevel::kWarning, "bytes travel through sockets, not through shared memory",
        {{"why", Message(shared.status())}});
    return sockets;
  }
  Log(LogLevel::kInfo, "bytes travel through shared memory", {});
  if (types != WireTypes()) {
    Log(LogLevel::kWarning, "a setting is ignored",
        {{"why",
          "spec.network.gradientType and parameterType are of sockets: in shared memory all "
          "numbers "
          "are Float32"}});
  }
  return std::make_unique<rpc::RetryingParameterClient>(*std::move(shared), rpc::RetryPolicy{});
}

}  // namespace

Connector GrpcConnector(const ConnectionOptions& options) {
  // What shards are asked for is of no use any more once the session is over.
  const auto newest = std::make_shared<std::weak_ptr<rpc::CoordinatorSession>>();
  return {.connect = [options, newest]() -> StatusOr<std::unique_ptr<Session>> {
            PACELINE_ASSIGN_OR_RETURN(
                std::unique_ptr<rpc::CoordinatorSession> made,
                rpc::CoordinatorSession::Connect(options.coordinator,
                                                 std::min(options.connect_timeout, kAttemptTimeout),
                                                 options.channel));
            const std::shared_ptr<rpc::CoordinatorSession> session = std::move(made);
            *newest = session;
            return std::make_unique<GrpcSession>(session);
          },
          .open_shards =
              [options, newest](
                  const Generation& generation, const std::vector<protocol::ShardAddress>& shards,
                  const store::Layout& layout) -> StatusOr<std::unique_ptr<rpc::ParameterClient>> {
            const auto is_over = [session = *newest] {
              const std::shared_ptr<rpc::CoordinatorSession> alive = session.lock();
              return alive == nullptr || alive->IsOver();
            };
            PACELINE_ASSIGN_OR_RETURN(
                auto sockets, rpc::OpenParameterClient({.generation = generation,
                                                        .shards = shards,
                                                        .parts = store::PartsOf(layout),
                                                        .types = options.types,
                                                        .pulls_average = options.pulls_average,
                                                        .idle_timeout = options.transfer_idle,
                                                        .bucket_bytes = options.bucket_bytes,
                                                        .is_cancelled = is_over,
                                                        .channel = options.channel}));
            if (!options.shares_memory || !AreOfThisMachine(shards)) return sockets;
            return WithSharedMemory({.generation = generation,
                                     .shards = shards,
                                     .idle_timeout = options.transfer_idle,
                                     .threads = options.threads,
                                     .is_cancelled = is_over,
                                     .pulls_average = options.pulls_average},
                                    options.types, std::move(sockets));
          }};
}

}  // namespace paceline::worker
