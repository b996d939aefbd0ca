// Defines ShardStreams: one way to, or from, all shards, with a stream to each.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/rpc/bulk/transfer_stream.h"

namespace paceline::rpc {

// How long a shard may be silent that owes something, and who knows that nobody waits any more.
struct Patience {
  Duration idle_timeout{};
  std::function<bool()> is_cancelled = nullptr;  // Asked ten times a second; may be null.
};

// What the thread that makes a push tells the one that sends it meanwhile. Each is told once.
struct Making {
  std::atomic<bool> is_whole = false;     // From now on the shards owe an answer.
  std::atomic<bool> is_given_up = false;  // No answer is wanted.
};

// One owner at a time, but for Wake; no thread is added: who runs transfers drives all of them.
class ShardStreams {
 public:
  // `method`: "/paceline.v1.Shard/Push". A channel a shard, in rank order.
  ShardStreams(const std::vector<std::shared_ptr<grpc::Channel>>& channels,
               const std::string& method);
  ~ShardStreams();
  ShardStreams(const ShardStreams&) = delete;

  uint64_t NextTransfer() { return ++transfers_; }

  // Runs one transfer a shard until every stream has an outcome, and says after each message that
  // one passed. The first failed one by rank, annotated. With `making` the transfers grow
  // meanwhile: Cancelled if that is given up.
  Status Run(std::span<Transfer* const> moving, const Patience& patience,
             const std::function<void()>& on_moved = nullptr, const Making* making = nullptr);

  // Something has changed for who runs a push that is being made. Of the one thread that makes it.
  void Wake();

 private:
  using SystemTime = std::chrono::system_clock::time_point;  // As gRPC takes deadlines.

  // Hands on what has come about by then. False if nothing has.
  bool Next(SystemTime deadline);
  void CancelAll(const Status& why);

  grpc::CompletionQueue queue_;
  std::deque<TransferStream> by_rank_;  // They do not move.
  uint64_t transfers_ = 0;              // Begun.
  grpc::Alarm alarm_;
  std::atomic<bool> is_waking_ = false;
};

}  // namespace paceline::rpc
