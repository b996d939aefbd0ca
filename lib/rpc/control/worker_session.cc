#include "lib/rpc/control/worker_session.h"

#include <mutex>
#include <utility>

#include "paceline/v1/coordinator.grpc.pb.h"
#include <grpcpp/channel.h>

#include "lib/rpc/control/bidi_session.h"
#include "lib/rpc/control/codec_worker.h"

namespace paceline::rpc {

struct CoordinatorSession::State {
  std::unique_ptr<v1::Coordinator::Stub> stub;
  mutable std::mutex mutex;  // Guards the next two.
  std::optional<std::string> expelled;
  std::function<void(Sequence)> interrupt;
  std::unique_ptr<BidiSession<v1::WorkerMessage, v1::WorkerOrder>> session;
};

StatusOr<std::unique_ptr<CoordinatorSession>> CoordinatorSession::Connect(
    const std::string& address, Duration timeout, const ChannelOptions& options) {
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(address, options);
  PACELINE_RETURN_IF_ERROR(WaitForPeer(*channel, address, timeout));
  auto state = std::make_unique<State>();
  state->stub = v1::Coordinator::NewStub(channel);
  state->session = decltype(state->session)::element_type::Start(
      [&](auto* context, auto* reactor) { state->stub->async()->WorkerSession(context, reactor); });
  // The first orders come after Join, so nothing is missed.
  state->session->HandTo([&state = *state](const v1::WorkerOrder& order) {
    if (order.has_interrupted()) {
      std::function<void(Sequence)> interrupt;
      {
        std::lock_guard lock(state.mutex);
        interrupt = state.interrupt;
      }
      if (interrupt) interrupt(Sequence(order.interrupted().sequence()));
      return static_cast<bool>(interrupt);
    }
    if (!order.has_expelled()) return false;
    std::lock_guard lock(state.mutex);
    state.expelled = order.expelled().reason();
    return false;  // Kept for Receive all the same.
  });
  return std::unique_ptr<CoordinatorSession>(new CoordinatorSession(std::move(state)));
}

CoordinatorSession::CoordinatorSession(std::unique_ptr<State> state) : state_(std::move(state)) {}

CoordinatorSession::~CoordinatorSession() { Close(); }

Status CoordinatorSession::Send(const protocol::WorkerMessage& message) {
  return state_->session->Send(Encode(message));
}

StatusOr<protocol::WorkerOrder> CoordinatorSession::Receive(Duration timeout) {
  PACELINE_ASSIGN_OR_RETURN(const v1::WorkerOrder order, state_->session->Receive(timeout));
  return Decode(order);
}

std::optional<std::string> CoordinatorSession::expelled() const {
  std::lock_guard lock(state_->mutex);
  return state_->expelled;
}

void CoordinatorSession::OnInterrupt(std::function<void(Sequence)> interrupt) {
  std::lock_guard lock(state_->mutex);
  state_->interrupt = std::move(interrupt);
}

bool CoordinatorSession::IsOver() const { return state_->session->IsOver(); }

void CoordinatorSession::Close() { state_->session->Close(Seconds(2)); }

}  // namespace paceline::rpc
