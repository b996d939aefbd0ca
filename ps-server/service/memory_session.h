// Defines MemorySession: one worker's connection through which it shares memory with a shard, one
// way.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>

#include "paceline/v1/shared_memory.pb.h"

#include "lib/rpc/shared_memory/memory_socket.h"
#include "ps-server/shard/shard_host.h"

namespace paceline::ps {

// Runs on a thread of its own, which judges what is pushed. Memory that the process at the other
// end may write is of this session alone and ends with it; a version that it reads is kept for it,
// at most kVersionsMax of them, and its memory is never reused if the process may still read when
// the session ends.
class MemorySession {
 public:
  static constexpr size_t kVersionsMax = 4;

  // `host` outlives this.
  MemorySession(ShardHost& host, rpc::MemorySocket socket);

  // Answers until the other end's process dies or closes the connection, breaks the protocol, or
  // ShutDown.
  void Run();
  // Thread-safe.
  void ShutDown() { socket_.ShutDown(); }
  bool has_ended() const { return has_ended_; }

 private:
  struct Answer {
    v1::MemoryAnswer message;
    int descriptor = -1;
  };
  enum class Wake { kMessage, kDead, kGone };

  Wake Await();
  // An error ends the session; a refusal is an answer.
  StatusOr<Answer> Handle(const v1::MemoryRequest& request);
  Status Stage(const v1::StagePush& request, v1::MemoryAnswer& answer);
  Status Seal(const v1::SealPush& request, v1::MemoryAnswer& answer);
  Status Pull(const v1::PullRequest& request, v1::MemoryAnswer& answer);

  struct Begun {
    store::PushId id;
    std::shared_ptr<store::Shard> shard;
    store::Staging staging;
  };

  ShardHost& host_;
  rpc::MemorySocket socket_;
  telemetry::OwnedSocket process_;  // Readable once it is dead; -1 where the kernel cannot tell.
  std::weak_ptr<store::Shard> pushed_to_;
  std::shared_ptr<const store::PushMemory> memory_;  // For pushes to that shard.
  std::optional<Begun> begun_;
  std::map<uint64_t, std::shared_ptr<const store::Published>> read_;  // By region.
  std::atomic<bool> has_ended_ = false;
};

}  // namespace paceline::ps
