// Defines what a transport and the coordinator's driver know of each other: sessions, as
// interfaces.
#pragma once

#include <memory>
#include <string>

#include "lib/coordination/fact.h"
#include "lib/protocol/shard_messages.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::ps {

// The coordinator's end of one worker's session. Thread-safe, never blocks: orders queue, and one
// that can no longer be delivered is dropped (WorkerGone tells).
class WorkerConnection {
 public:
  virtual ~WorkerConnection() = default;
  virtual void Send(const protocol::WorkerOrder& order) = 0;
  virtual void Close() = 0;  // After what was sent before. WorkerGone still follows.
};

// The coordinator's end of one shard's session; the same rules.
class ShardConnection {
 public:
  virtual ~ShardConnection() = default;
  virtual void Send(const protocol::ShardOrder& order) = 0;
  // After what was sent before. The shard was given up: from here on neither ShardSaid nor
  // ShardGone is called for this session, and another one of its rank may be there.
  virtual void Close() = 0;
};

// The driver's end, called by transports. Thread-safe. What follows from a call may be done within
// it, on the caller's thread, sends to connections included: no lock may be held that these take.
class Sessions {
 public:
  virtual ~Sessions() = default;

  virtual coordination::ConnectionId WorkerConnected(
      std::shared_ptr<WorkerConnection> connection) = 0;
  virtual void WorkerSaid(coordination::ConnectionId connection,
                          protocol::WorkerMessage message) = 0;
  virtual void WorkerGone(
      coordination::ConnectionId connection) = 0;  // Once, the last call for it.

  // A shard's session begins with its Register message. False: this rank has a live session
  // already, or does not exist; the connection is closed then, and neither ShardSaid nor ShardGone
  // may be called for it.
  virtual bool ShardConnected(const protocol::Register& shard,
                              std::shared_ptr<ShardConnection> connection) = 0;
  virtual void ShardSaid(ShardId shard, protocol::ShardMessage message) = 0;
  virtual void ShardGone(ShardId shard, std::string reason) = 0;
};

}  // namespace paceline::ps
