// Defines MemoryService: shares a shard's memory with workers on the same machine.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <thread>

#include "lib/base/status.h"
#include "lib/telemetry/listening_socket.h"
#include "ps-server/service/memory_session.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

// Listens beside the Unix socket of gRPC (rpc::MemorySocketPath); only processes of this user are
// let in, at most limits::kMemoryConnectionsMax connections at a time and never so many that
// descriptors run out, each with a thread; where none can be started, nobody is. Others hear why,
// and take sockets.
class MemoryService {
 public:
  // `address` is gRPC's, unix:/path; `host` outlives this. Unavailable or InvalidArgument, saying
  // why, if it cannot listen.
  static StatusOr<std::unique_ptr<MemoryService>> Start(ShardHost& host,
                                                        const std::string& address);
  // Ends all connections. What workers have mapped stays theirs.
  ~MemoryService();

  size_t connections() const { return connections_; }  // Those that have not ended. Thread-safe.

 private:
  struct Running {
    std::unique_ptr<MemorySession> session;
    std::thread thread;
  };

  MemoryService(ShardHost& host, std::string path, telemetry::OwnedSocket listening,
                telemetry::OwnedSocket wake, telemetry::OwnedSocket ended);
  void Run();
  void LetIn(telemetry::OwnedSocket socket);
  void Serve(MemorySession* session);  // On a thread of its own; null: nobody came.
  void ForgetEnded();

  ShardHost& host_;
  const std::string path_;
  telemetry::OwnedSocket listening_;
  const telemetry::OwnedSocket wake_;
  const telemetry::OwnedSocket ended_;  // Readable once a session has.
  std::atomic<size_t> connections_ = 0;
  std::list<Running> running_;  // The thread's own.
  std::thread thread_;          // Last: it uses the rest.
};

}  // namespace paceline::ps
