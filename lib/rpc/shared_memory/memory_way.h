// Defines MemoryWay: one way between this process and one shard, through memory that they share.
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "paceline/v1/shared_memory.pb.h"

#include "lib/protocol/worker_messages.h"
#include "lib/rpc/shared_memory/mapping.h"
#include "lib/rpc/shared_memory/memory_socket.h"

namespace paceline::rpc {

// One owner at a time. Errors name the shard. An error of the connection closes it: what was asked
// may be answered later, and must not be heard as the answer to the next question.
class MemoryWay {
 public:
  struct Options {
    protocol::ShardAddress shard;
    Mapping::Access access = Mapping::Access::kRead;
    Duration idle_timeout = Seconds(60);
    MemorySocket::IsCancelled is_cancelled = nullptr;
  };
  explicit MemoryWay(Options options) : options_(std::move(options)) {}

  const store::Slice& slice() const { return options_.shard.slice; }
  bool is_open() const { return socket_.is_open(); }
  // Connects, if it is not. Unavailable, InvalidArgument; Unimplemented if the shard has no room.
  Status Open();
  // What was mapped is unmapped.
  void Close();

  // Sends a request, connecting first if need be. One at a time.
  Status Ask(const v1::MemoryRequest& request);
  // Waits for its answer. OK for a refusal too.
  Status Hear();
  bool is_asked() const { return is_asked_; }
  const v1::MemoryAnswer& answer() const { return answer_; }
  Status refusal() const;  // The answer's; OK if it is none.

  // The memory that the answer names; empty for an empty slice. InvalidArgument if it is not the
  // slice's size. Valid until this closes, or the answer names its ninth other region.
  StatusOr<std::span<std::byte>> Memory();
  // The descriptor of that memory, for whoever maps it by himself.
  StatusOr<telemetry::OwnedSocket> Descriptor();
  // Says that the version in a region is read, and hears that it was kept until then.
  Status Release(uint64_t region);
  // The same without hearing so, by whoever ends the connection then.
  Status BeginRelease(uint64_t region);
  // Which connection this is: regions of another one are others, whatever their names.
  uint64_t connection() const { return connection_; }

 private:
  struct Region {
    uint64_t id = 0;
    Mapping mapping;
  };

  Status Settle(const Status& status);  // Of the connection.

  const Options options_;
  MemorySocket socket_;
  uint64_t connection_ = 0;  // Counted.
  bool is_asked_ = false;
  v1::MemoryAnswer answer_;
  std::deque<Region> regions_;  // The one used last comes last.
};

}  // namespace paceline::rpc
