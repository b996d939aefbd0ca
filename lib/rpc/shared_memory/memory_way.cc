#include "lib/rpc/shared_memory/memory_way.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::rpc {
namespace {

// More than a shard has in turn: the newest two, one in the making, and what others hold.
constexpr size_t kRegionsMax = 8;
constexpr Duration kWelcomePatience = std::chrono::seconds(5);

std::string Rank(const protocol::ShardAddress& shard) {
  return fmt::format("shard {}", shard.shard);
}

}  // namespace

Status MemoryWay::Open() {
  if (socket_.is_open()) return OkStatus();
  const StatusOr<std::string> path = MemorySocketPath(options_.shard.address);
  if (!path.ok()) return Annotate(path.status(), Rank(options_.shard));
  StatusOr<MemorySocket> socket = MemorySocket::Connect(*path);
  if (!socket.ok()) return Annotate(socket.status(), Rank(options_.shard));
  // It would refuse, and end the connection without a word.
  if (const auto peer = socket->peer(); peer.ok() && peer->user != ::geteuid()) {
    return Annotate(
        InvalidArgument("shared memory is of user {}, this is {}", peer->user, ::geteuid()),
        Rank(options_.shard));
  }
  // A shard that has no room for one more says so; one that says nothing may have no descriptor
  // left to take the connection with.
  v1::MemoryAnswer welcome;
  const Status heard = socket->Receive(welcome, std::min(options_.idle_timeout, kWelcomePatience),
                                       options_.is_cancelled);
  if (heard.code() == StatusCode::kDeadlineExceeded)
    return Annotate(Unimplemented("shared memory: nobody lets us in"), Rank(options_.shard));
  if (!heard.ok()) return Annotate(heard, Rank(options_.shard));
  if (welcome.code() != 0) {
    return Annotate(MakeStatus(static_cast<StatusCode>(welcome.code()), welcome.message()),
                    Rank(options_.shard));
  }
  socket_ = *std::move(socket);
  ++connection_;
  return OkStatus();
}

void MemoryWay::Close() {
  socket_ = MemorySocket();
  regions_.clear();
  answer_.Clear();
  is_asked_ = false;
}

Status MemoryWay::Ask(const v1::MemoryRequest& request) {
  PACELINE_RETURN_IF_ERROR(Open());
  answer_.Clear();
  is_asked_ = true;
  return Settle(socket_.Send(request, options_.idle_timeout));
}

Status MemoryWay::Hear() {
  PACELINE_RETURN_IF_ERROR(
      Settle(socket_.Receive(answer_, options_.idle_timeout, options_.is_cancelled)));
  is_asked_ = false;
  return OkStatus();
}

Status MemoryWay::Settle(const Status& status) {
  if (status.ok()) return status;
  Close();
  return Annotate(status, Rank(options_.shard));
}

Status MemoryWay::refusal() const {
  if (answer_.code() == 0) return OkStatus();
  return Annotate(MakeStatus(static_cast<StatusCode>(answer_.code()), answer_.message()),
                  Rank(options_.shard));
}

StatusOr<std::span<std::byte>> MemoryWay::Memory() {
  if (answer_.region() == 0) return std::span<std::byte>();
  const auto known = std::ranges::find(regions_, answer_.region(), &Region::id);
  if (known != regions_.end()) {
    std::rotate(known, known + 1, regions_.end());
    return regions_.back().mapping.bytes();
  }
  PACELINE_ASSIGN_OR_RETURN(const telemetry::OwnedSocket descriptor, Descriptor());
  StatusOr<Mapping> mapping = Mapping::Of(descriptor, slice().size_bytes(), options_.access);
  // To be told from a shard that is short of slots.
  if (!mapping.ok())
    return Annotate(Unimplemented("{}", Message(mapping.status())), Rank(options_.shard));
  if (regions_.size() == kRegionsMax) regions_.pop_front();
  regions_.push_back({answer_.region(), *std::move(mapping)});
  return regions_.back().mapping.bytes();
}

StatusOr<telemetry::OwnedSocket> MemoryWay::Descriptor() {
  if (answer_.region_bytes() != slice().size_bytes()) {
    return Annotate(InvalidArgument("size of shared memory differs: got {} bytes, want {}",
                                    answer_.region_bytes(), slice().size_bytes()),
                    Rank(options_.shard));
  }
  const v1::MemoryAnswer named = answer_;
  v1::MemoryRequest request;
  request.mutable_map()->set_region(named.region());
  PACELINE_RETURN_IF_ERROR(Ask(request));
  PACELINE_RETURN_IF_ERROR(Hear());
  const Status refused = refusal();
  telemetry::OwnedSocket descriptor = socket_.TakeDescriptor();
  answer_ = named;
  PACELINE_RETURN_IF_ERROR(refused);
  return descriptor;
}

Status MemoryWay::BeginRelease(uint64_t region) {
  v1::MemoryRequest request;
  request.mutable_release()->set_region(region);
  return Ask(request);
}

Status MemoryWay::Release(uint64_t region) {
  PACELINE_RETURN_IF_ERROR(BeginRelease(region));
  PACELINE_RETURN_IF_ERROR(Hear());
  return refusal();
}

}  // namespace paceline::rpc
