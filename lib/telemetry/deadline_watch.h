// Defines DeadlineWatch: ends what is in work on a socket when its time is over.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "lib/base/time.h"

namespace paceline::telemetry {

// A client that waits anew for each piece of an answer can be held up for ever by a server that
// gives it one now and then. This shuts its socket down, whatever it waits for: to be connected,
// for a handshake, a head or a body. Thread-safe.
class DeadlineWatch {
 public:
  explicit DeadlineWatch(Duration timeout);
  ~DeadlineWatch();  // Whoever uses the socket has ended.
  DeadlineWatch(const DeadlineWatch&) = delete;
  DeadlineWatch& operator=(const DeadlineWatch&) = delete;

  // The socket that is used from now on, which stays its owner's.
  void Watch(int socket);
  bool is_over() const;

 private:
  void Run();

  const Time deadline_;       // Of the steady clock.
  mutable std::mutex mutex_;  // Guards what is below.
  std::condition_variable changed_;
  int socket_ = -1;  // One of our own to the same; -1: none yet.
  bool is_over_ = false;
  bool is_done_ = false;
  std::thread thread_;  // The last member: it uses all others.
};

}  // namespace paceline::telemetry
