#include "lib/rpc/control/shard_session.h"

#include <utility>

#include "paceline/v1/coordinator.grpc.pb.h"
#include <grpcpp/channel.h>

#include "lib/rpc/control/bidi_session.h"
#include "lib/rpc/control/codec_shard.h"

namespace paceline::rpc {

struct ShardSession::State {
  std::unique_ptr<v1::Coordinator::Stub> stub;
  std::unique_ptr<BidiSession<v1::ShardMessage, v1::ShardOrder>> session;
};

StatusOr<std::unique_ptr<ShardSession>> ShardSession::Connect(const std::string& address,
                                                              Duration timeout,
                                                              const ChannelOptions& options) {
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(address, options);
  PACELINE_RETURN_IF_ERROR(WaitForPeer(*channel, address, timeout));
  auto state = std::make_unique<State>();
  state->stub = v1::Coordinator::NewStub(channel);
  state->session = decltype(state->session)::element_type::Start(
      [&](auto* context, auto* reactor) { state->stub->async()->ShardSession(context, reactor); });
  return std::unique_ptr<ShardSession>(new ShardSession(std::move(state)));
}

ShardSession::ShardSession(std::unique_ptr<State> state) : state_(std::move(state)) {}

ShardSession::~ShardSession() { Close(); }

Status ShardSession::Send(const protocol::ShardMessage& message) {
  return state_->session->Send(Encode(message));
}

void ShardSession::HandTo(std::function<bool(const protocol::ShardOrder&)> take) {
  state_->session->HandTo([take = std::move(take)](const v1::ShardOrder& order) {
    const StatusOr<protocol::ShardOrder> decoded = Decode(order);
    return decoded.ok() && take(*decoded);  // Receive tells what is wrong with it.
  });
}

StatusOr<protocol::ShardOrder> ShardSession::Receive(Duration timeout) {
  PACELINE_ASSIGN_OR_RETURN(const v1::ShardOrder order, state_->session->Receive(timeout));
  return Decode(order);
}

void ShardSession::Close() { state_->session->Close(Seconds(2)); }

}  // namespace paceline::rpc
