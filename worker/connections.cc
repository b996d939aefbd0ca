#include "worker/connections.h"

#include <utility>

#include "lib/rpc/grpc_parameter_client.h"
#include "lib/rpc/worker_session.h"

namespace paceline::worker {
namespace {

// Longer than a coordinator needs to start, shorter than a user's patience with one that is gone.
constexpr Duration kConnectTimeout = std::chrono::seconds(60);

class GrpcSession : public Session {
 public:
  explicit GrpcSession(std::unique_ptr<rpc::CoordinatorSession> session)
      : session_(std::move(session)) {}
  Status Send(const protocol::WorkerMessage& message) override { return session_->Send(message); }
  StatusOr<protocol::WorkerOrder> Receive(Duration timeout) override {
    return session_->Receive(timeout);
  }
  void Close() override { session_->Close(); }

 private:
  std::unique_ptr<rpc::CoordinatorSession> session_;
};

}  // namespace

Connector GrpcConnector(const std::string& address) {
  return {.connect = [address]() -> StatusOr<std::unique_ptr<Session>> {
            PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<rpc::CoordinatorSession> session,
                                      rpc::CoordinatorSession::Connect(address, kConnectTimeout));
            return std::make_unique<GrpcSession>(std::move(session));
          },
          .open_shards =
              [](const Generation& generation, const std::vector<protocol::ShardAddress>& shards) {
                return rpc::OpenParameterClient({.generation = generation, .shards = shards});
              }};
}

}  // namespace paceline::worker
