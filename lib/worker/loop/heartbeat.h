// Defines Heartbeat: tells the coordinator that the worker lives while its loop computes, and what
// it does.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "lib/base/time.h"
#include "lib/worker/loop/pulse.h"
#include "lib/worker/loop/session.h"

namespace paceline::worker {

struct HeartbeatOptions {
  Duration period{};
  const Pulse* pulse = nullptr;  // Outlives the heartbeat; null: nothing is known of steps.
  // Called, on the heartbeat's thread and once, when the loop does not come back from a step
  // although the session is over: the worker is expelled and the heartbeat still lives so much
  // later; or the session is lost otherwise, and then the step has been still for so long. Says
  // which. May end the process; may be null.
  std::function<void(const std::string& why)> on_stuck = nullptr;
  Duration stuck_after = std::chrono::seconds(5);
  Duration stuck_alone_after = std::chrono::seconds(900);
};

// Sends protocol::Heartbeat every `period` on a thread of its own until destroyed or a send fails;
// from then on sees that the process ends should its loop hang.
class Heartbeat {
 public:
  Heartbeat(std::shared_ptr<Session> session, HeartbeatOptions options);
  ~Heartbeat();

 private:
  void Run();
  void WatchAlone();
  protocol::Heartbeat Beat();
  // False once the heartbeat is to end.
  bool Sleep(Duration duration);

  const std::shared_ptr<Session> session_;
  const HeartbeatOptions options_;
  const uint64_t steps_before_;  // Of earlier sessions.

  // Of the thread.
  uint64_t ticks_ = 0;  // As read last.
  Duration still_{};

  std::mutex mutex_;  // Guards what is below.
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace paceline::worker
