#include "lib/worker/loop/heartbeat.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::worker {

Heartbeat::Heartbeat(std::shared_ptr<Session> session, HeartbeatOptions options)
    : session_(std::move(session)),
      options_(std::move(options)),
      steps_before_(options_.pulse == nullptr ? 0 : options_.pulse->Read().steps),
      thread_([this] { Run(); }) {}

Heartbeat::~Heartbeat() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool Heartbeat::Sleep(Duration duration) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, duration, [this] { return is_stopping_; });
}

// A beat counts as one period, however late it is: a process that stood still had no chance.
protocol::Heartbeat Heartbeat::Beat() {
  if (options_.pulse == nullptr) return {};
  const Pulse::Reading reading = options_.pulse->Read();
  const bool is_still = reading.ticks == ticks_ && (reading.doing == protocol::Doing::kComputing ||
                                                    reading.doing == protocol::Doing::kInScript);
  still_ = is_still ? still_ + options_.period : Duration::zero();
  ticks_ = reading.ticks;
  return {reading.doing, reading.steps - steps_before_, still_};
}

void Heartbeat::Run() {
  do {
    if (!Sleep(options_.period)) return;
  } while (session_->Send(Beat()).ok());
  if (options_.on_stuck) WatchAlone();
}

// Nobody listens any more, and only this thread can end a process whose loop does not come back.
void Heartbeat::WatchAlone() {
  if (const std::optional<std::string> reason = session_->expelled()) {
    if (Sleep(options_.stuck_after)) options_.on_stuck("expelled: " + *reason);
    return;
  }
  while (still_ < options_.stuck_alone_after) {
    if (!Sleep(options_.period)) return;
    (void)Beat();
  }
  options_.on_stuck(fmt::format("session lost, and no progress for {:g} s", ToSeconds(still_)));
}

}  // namespace paceline::worker
