// Defines Session: the worker's end of its conversation with the coordinator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/protocol/worker_messages.h"
#include "lib/rpc/bulk/parameter_client.h"

namespace paceline::worker {

// Send and expelled are thread-safe; Receive has one caller.
class Session {
 public:
  virtual ~Session() = default;
  virtual Status Send(const protocol::WorkerMessage& message) = 0;
  // The next order. DeadlineExceeded after `timeout`; Unavailable or Cancelled when the session has
  // ended.
  virtual StatusOr<protocol::WorkerOrder> Receive(Duration timeout) = 0;
  // Why the coordinator expelled the worker, as soon as that has come in, received or not. Never
  // blocks.
  virtual std::optional<std::string> expelled() const = 0;
  virtual void Close() = 0;
};

// How the loop reaches the rest of the job; the transports behind it are the caller's.
struct Connector {
  std::function<StatusOr<std::unique_ptr<Session>>()> connect;  // Bounded by its own deadline.
  std::function<StatusOr<std::unique_ptr<rpc::ParameterClient>>(
      const Generation&, const std::vector<protocol::ShardAddress>&)>
      open_shards;
};

}  // namespace paceline::worker
