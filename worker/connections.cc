#include "worker/connections.h"

#include <algorithm>
#include <utility>

#include "lib/rpc/grpc_parameter_client.h"
#include "lib/rpc/worker_session.h"

namespace paceline::worker {
namespace {

// One attempt; the loop asks again until its own patience is over.
constexpr Duration kAttemptTimeout = std::chrono::seconds(12);

class GrpcSession : public Session {
 public:
  explicit GrpcSession(std::unique_ptr<rpc::CoordinatorSession> session)
      : session_(std::move(session)) {}
  Status Send(const protocol::WorkerMessage& message) override { return session_->Send(message); }
  StatusOr<protocol::WorkerOrder> Receive(Duration timeout) override {
    return session_->Receive(timeout);
  }
  std::optional<std::string> expelled() const override { return session_->expelled(); }
  void Close() override { session_->Close(); }

 private:
  std::unique_ptr<rpc::CoordinatorSession> session_;
};

}  // namespace

Connector GrpcConnector(const ConnectionOptions& options) {
  return {.connect = [options]() -> StatusOr<std::unique_ptr<Session>> {
            PACELINE_ASSIGN_OR_RETURN(
                std::unique_ptr<rpc::CoordinatorSession> session,
                rpc::CoordinatorSession::Connect(options.coordinator,
                                                 std::min(options.connect_timeout, kAttemptTimeout),
                                                 options.channel));
            return std::make_unique<GrpcSession>(std::move(session));
          },
          .open_shards =
              [channel = options.channel](const Generation& generation,
                                          const std::vector<protocol::ShardAddress>& shards) {
                return rpc::OpenParameterClient(
                    {.generation = generation, .shards = shards, .channel = channel});
              }};
}

}  // namespace paceline::worker
