#include "worker/loop/heartbeat.h"

#include <utility>

namespace paceline::worker {

Heartbeat::Heartbeat(std::shared_ptr<Session> session, Duration period)
    : session_(std::move(session)), period_(period), thread_([this] { Run(); }) {}

Heartbeat::~Heartbeat() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Heartbeat::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, period_, [this] { return is_stopping_; })) {
    lock.unlock();
    const bool is_over = !session_->Send(protocol::Heartbeat{}).ok();
    lock.lock();
    if (is_over) return;
  }
}

}  // namespace paceline::worker
