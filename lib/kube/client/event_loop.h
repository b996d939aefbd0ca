// Defines EventLoop: the one thread on which a client's transfers, timers and callbacks run.
//
// Example:
//   client->loop().After(Seconds(2), [this] { Renew(); });
//   client->loop().Post([this] { state_ = kIdle; });   // state_ needs no lock
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "lib/base/time.h"

namespace paceline::kube {

// Thread-safe. Functions run on the loop's thread, one at a time; they must not block.
class EventLoop {
 public:
  using TimerId = uint64_t;

  virtual ~EventLoop() = default;

  // In the order of posting. Whether it will run: always, but not once the loop is stopping.
  virtual bool Post(std::function<void()> run) = 0;
  // In the order of time. Nothing runs once the loop is stopping.
  virtual TimerId After(Duration delay, std::function<void()> run) = 0;
  // Whether it had not run yet. Called on the loop, it never runs after a cancel.
  virtual bool Cancel(TimerId timer) = 0;
  virtual bool IsLoopThread() const = 0;

  // Runs `run` on the loop and returns when it has; at once where this is the loop's thread.
  // Whether it ran: not if the loop has stopped.
  bool RunAndWait(const std::function<void()>& run);
};

}  // namespace paceline::kube
