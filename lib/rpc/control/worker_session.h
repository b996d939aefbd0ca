// Defines CoordinatorSession: a worker's (or evaluator's) end of its conversation with the
// coordinator.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/protocol/worker_messages.h"
#include "lib/rpc/channel.h"

namespace paceline::rpc {

// All but Receive, which has one caller, are thread-safe.
class CoordinatorSession {
 public:
  // Tries again with a backoff until `timeout`; then Unavailable, naming the address. Blocks.
  static StatusOr<std::unique_ptr<CoordinatorSession>> Connect(const std::string& address,
                                                               Duration timeout,
                                                               const ChannelOptions& options = {});
  ~CoordinatorSession();  // Closes.

  // Queues in order of the calls; never blocks. Unavailable or Cancelled when the session has
  // ended.
  Status Send(const protocol::WorkerMessage& message);
  // The next order. DeadlineExceeded after `timeout`; when the session has ended and all that was
  // received is handed out: Cancelled after Close, the coordinator's reason if it gave one,
  // otherwise Unavailable.
  StatusOr<protocol::WorkerOrder> Receive(Duration timeout);
  // Why the coordinator expelled the worker, as soon as that has come in, received or not. Never
  // blocks.
  std::optional<std::string> expelled() const;
  // From now on `interrupt` is called with each protocol::Interrupted as it comes in, on gRPC's
  // thread, and Receive gives none. It must not block. Before Join nothing comes in; once Close has
  // returned, it is not called any more.
  void OnInterrupt(std::function<void(Sequence)> interrupt);
  // Whether it has ended and all that was received is handed out. Thread-safe.
  bool IsOver() const;
  // Sends what is queued and ends the session. Blocks at most two seconds. Again: nothing happens.
  void Close();

 private:
  struct State;
  explicit CoordinatorSession(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paceline::rpc
