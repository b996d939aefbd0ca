// Defines Heartbeat: tells the coordinator that the worker lives while its loop computes.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "lib/base/time.h"
#include "worker/loop/session.h"

namespace paceline::worker {

// Sends protocol::Heartbeat every `period` on a thread of its own until destroyed or a send fails.
class Heartbeat {
 public:
  Heartbeat(std::shared_ptr<Session> session, Duration period);
  ~Heartbeat();

 private:
  void Run();

  const std::shared_ptr<Session> session_;
  const Duration period_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace paceline::worker
