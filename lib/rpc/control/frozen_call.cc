#include "lib/rpc/control/frozen_call.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "paceline/v1/coordinator.grpc.pb.h"
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "lib/rpc/control/codec_values.h"
#include "lib/rpc/grpc_status.h"

namespace paceline::rpc {
namespace {

using protocol::FrozenState;

constexpr EnumPair<FrozenState, v1::FrozenState> kStates[] = {
    {FrozenState::kWanted, v1::FROZEN_STATE_WANTED},
    {FrozenState::kHeld, v1::FROZEN_STATE_HELD},
    {FrozenState::kBusy, v1::FROZEN_STATE_BUSY},
    {FrozenState::kNotWanted, v1::FROZEN_STATE_NOT_WANTED},
    {FrozenState::kOther, v1::FROZEN_STATE_OTHER},
};

std::vector<std::byte> BytesOf(const std::string& wire) {
  const auto* const begin = reinterpret_cast<const std::byte*>(wire.data());
  return {begin, begin + wire.size()};
}

}  // namespace

void Encode(const protocol::FrozenPart& part, v1::FrozenPart* wire) {
  wire->set_of(part.of);
  wire->set_frozen(part.frozen);
  wire->set_sender(part.sender);
  wire->set_size(part.size);
  wire->set_begin(part.begin);
  wire->set_bytes(part.bytes.data(), part.bytes.size());
  wire->set_adopts(part.adopts);
}

protocol::FrozenPart Decode(const v1::FrozenPart& wire) {
  return {.of = wire.of(),
          .frozen = wire.frozen(),
          .sender = wire.sender(),
          .size = wire.size(),
          .begin = wire.begin(),
          .bytes = BytesOf(wire.bytes()),
          .adopts = wire.adopts()};
}

void Encode(const protocol::FrozenAnswer& answer, v1::FrozenAnswer* wire) {
  wire->set_state(EncodeEnum(kStates, answer.state));
  wire->set_begin(answer.begin);
  wire->set_why(answer.why);
  wire->set_of(answer.of);
  wire->set_size(answer.size);
  wire->set_bytes(answer.bytes.data(), answer.bytes.size());
}

StatusOr<protocol::FrozenAnswer> Decode(const v1::FrozenAnswer& wire) {
  PACELINE_ASSIGN_OR_RETURN(const FrozenState state,
                            DecodeEnum(kStates, wire.state(), "frozen.state"));
  return protocol::FrozenAnswer{state,     wire.begin(), wire.why(),
                                wire.of(), wire.size(),  BytesOf(wire.bytes())};
}

FrozenCall CallForFrozen(const std::string& address, Duration timeout,
                         const ChannelOptions& options) {
  const std::shared_ptr<grpc::Channel> channel = MakeChannel(address, options);
  const std::shared_ptr<v1::Coordinator::Stub> stub = v1::Coordinator::NewStub(channel);
  return [=](const protocol::FrozenPart& part) -> StatusOr<protocol::FrozenAnswer> {
    if (part.bytes.empty()) PACELINE_RETURN_IF_ERROR(WaitForPeer(*channel, address, timeout));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::duration_cast<std::chrono::system_clock::duration>(timeout));
    v1::FrozenPart wire;
    Encode(part, &wire);
    v1::FrozenAnswer answer;
    const grpc::Status status = stub->HandFrozen(&context, wire, &answer);
    if (!status.ok()) return ToStatus(status);
    return Decode(answer);
  };
}

}  // namespace paceline::rpc
