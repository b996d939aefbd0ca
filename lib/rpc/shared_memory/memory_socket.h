// Defines MemorySocket: one end of the connection over which a worker and a shard of one machine
// agree about the memory that they share.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "paceline/v1/shared_memory.pb.h"

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/telemetry/listening_socket.h"

namespace paceline::rpc {

// Where the shard that gRPC reaches at `address` offers to share memory: unix:/path gives
// /path.memory. InvalidArgument for an address on a network, and a path that is too long.
StatusOr<std::string> MemorySocketPath(const std::string& address);

// One thread at a time, but for ShutDown. After an error the connection is of no more use.
class MemorySocket {
 public:
  // Asked while nothing comes, ten times a second: true ends the wait with Cancelled. May be null.
  using IsCancelled = std::function<bool()>;

  MemorySocket() = default;
  explicit MemorySocket(telemetry::OwnedSocket socket) : socket_(std::move(socket)) {}

  // Unavailable, saying why, if nobody listens at `path`.
  static StatusOr<MemorySocket> Connect(const std::string& path);

  bool is_open() const { return socket_.get() >= 0; }
  int descriptor() const { return socket_.get(); }
  // The other end's process and user, of the moment of connecting. Internal if the kernel does not
  // tell.
  struct Peer {
    int process = 0;
    unsigned user = 0;
  };
  StatusOr<Peer> peer() const;

  // `descriptor` goes along unless it is -1. Unavailable if the other end is gone, DeadlineExceeded
  // if it takes nothing for `patience`.
  Status Send(const google::protobuf::MessageLite& message, Duration patience, int descriptor = -1);

  // The next message into `message`; what came along is in TakeDescriptor. Unavailable if the other
  // end is gone, DeadlineExceeded after `patience` without one, InvalidArgument if it is none of
  // ours.
  Status Receive(google::protobuf::MessageLite& message, Duration patience,
                 const IsCancelled& is_cancelled = nullptr);
  telemetry::OwnedSocket TakeDescriptor() { return std::move(received_); }

  // Whoever waits here gets Unavailable, now and later. Thread-safe.
  void ShutDown();

 private:
  Status ReceiveBytes(std::span<char> into, Time until, const IsCancelled& is_cancelled);

  telemetry::OwnedSocket socket_;
  telemetry::OwnedSocket received_;
};

}  // namespace paceline::rpc
