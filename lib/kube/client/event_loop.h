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

// Thread-safe. Functions run on the loop's thread, one at a time, in order of their time; they must
// not block. After the loop has stopped nothing runs any more, and what was posted is dropped.
class EventLoop {
 public:
  using TimerId = uint64_t;

  virtual ~EventLoop() = default;

  virtual void Post(std::function<void()> run) = 0;
  virtual TimerId After(Duration delay, std::function<void()> run) = 0;
  // Whether it had not run yet. Called on the loop, it never runs after a cancel.
  virtual bool Cancel(TimerId timer) = 0;
  virtual bool IsLoopThread() const = 0;

  // Runs `run` on the loop and returns when it has; at once where this is the loop's thread.
  void RunAndWait(const std::function<void()>& run);
};

}  // namespace paceline::kube
