// Defines ShardSession: a shard's end of its conversation with the coordinator, for shards of rank
// > 0.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/protocol/shard_messages.h"
#include "lib/rpc/channel.h"

namespace paceline::rpc {

// Send is thread-safe; Receive has one caller.
class ShardSession {
 public:
  // Tries again with a backoff until `timeout`; then Unavailable, naming the address. Blocks.
  static StatusOr<std::unique_ptr<ShardSession>> Connect(const std::string& address,
                                                         Duration timeout,
                                                         const ChannelOptions& options = {});
  ~ShardSession();  // Closes.

  // Queues in order of the calls; never blocks. Unavailable or Cancelled when the session has
  // ended.
  Status Send(const protocol::ShardMessage& message);
  // From now on each order is offered to `take` first, in order, on a thread of the transport,
  // which it must not block; those it refuses (false) come out of Receive. Call before Register is
  // sent. Once Close has returned, it is not called any more.
  void HandTo(std::function<bool(const protocol::ShardOrder&)> take);
  // The next order. DeadlineExceeded after `timeout`; when the session has ended and all that was
  // received is handed out: Cancelled after Close, the coordinator's reason if it gave one,
  // otherwise Unavailable.
  StatusOr<protocol::ShardOrder> Receive(Duration timeout);
  // Sends what is queued and ends the session. Blocks at most two seconds. Again: nothing happens.
  void Close();

 private:
  struct State;
  explicit ShardSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paceline::rpc
