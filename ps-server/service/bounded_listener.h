// Defines BoundedListener: accepts a gRPC server's connections, as many as its limits allow.
//
// gRPC 1.51 accepts without a bound, and where descriptors run out it stops accepting for good:
// whoever opens enough connections once has shut the server to everybody (docs/adr/0033).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "lib/base/limits.h"
#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/telemetry/listening_socket.h"

namespace grpc::experimental {
class ExternalConnectionAcceptor;
}  // namespace grpc::experimental

namespace paceline::ps {

struct BoundedListenerOptions {
  size_t all = limits::kGrpcConnectionsMax;  // And never more than half of the descriptors.
  size_t per_peer = limits::kGrpcConnectionsPerPeerMax;  // And never more than half of all.
  Duration unacknowledged_longest = Seconds(20);  // After that what was sent, a connection is lost.
};

// Thread-safe.
class BoundedListener {
 public:
  // Listens; nobody is let in yet. Unavailable, naming the address and why, if it cannot.
  static StatusOr<std::unique_ptr<BoundedListener>> Listen(const std::string& host, int port,
                                                           const BoundedListenerOptions& options);
  ~BoundedListener();

  int port() const { return telemetry::PortOf(listening_); }

  // Hands connections to `acceptor` from now on, on a thread of its own. A connection beyond the
  // limits is closed at once: those that are open, a job's own among them, stay. Once only.
  void LetIn(std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor);

  // Accepts no more. Connections stay. Idempotent.
  void Close();

  size_t refused() const { return refused_; }

 private:
  struct Connection {
    uint64_t inode;  // Of the socket that had this descriptor then.
    std::string peer;
  };

  BoundedListener(telemetry::OwnedSocket listening, const BoundedListenerOptions& options);

  void Run();
  void AcceptSome();
  void Take(telemetry::Accepted accepted);
  bool HasRoomFor(const std::string& peer, Time now);
  void Forget(int descriptor);
  void ForgetClosed(Time now);
  void SayWhoWasRefused(Time now);

  const BoundedListenerOptions options_;
  telemetry::OwnedSocket listening_;
  const telemetry::OwnedSocket wake_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;

  // The thread's own.
  bool is_full_ = false;                             // The process has no descriptor left.
  std::unordered_map<int, Connection> connections_;  // By descriptor; some are closed by now.
  std::unordered_map<std::string, size_t> peers_;
  Time next_look_{};
  size_t said_ = 0;
  Time next_word_{};

  std::atomic<size_t> refused_ = 0;
  std::atomic<bool> is_closing_ = false;
  std::thread thread_;
};

}  // namespace paceline::ps
