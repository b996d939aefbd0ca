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
#include "lib/store/layout.h"

namespace paceline::worker {

// All but Receive, which has one caller, are thread-safe.
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
  // From now on `interrupt` is called with each protocol::Interrupted as it comes in, on a thread
  // of the session's, and Receive gives none: who has to hear of it is computing. It must not
  // block. Call before Join; not called any more once Close has returned.
  virtual void OnInterrupt(std::function<void(Sequence)> interrupt) = 0;
  virtual void Close() = 0;
};

// How the loop reaches the rest of the job; the transports behind it are the caller's.
struct Connector {
  std::function<StatusOr<std::unique_ptr<Session>>()> connect;  // Bounded by its own deadline.
  std::function<StatusOr<std::unique_ptr<rpc::ParameterClient>>(
      const Generation&, const std::vector<protocol::ShardAddress>&, const store::Layout&)>
      open_shards;
};

}  // namespace paceline::worker
