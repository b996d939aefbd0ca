#include "ps-server/service/idle_watch.h"

#include <algorithm>
#include <utility>

#include "lib/telemetry/clock.h"

namespace paceline::ps {

using telemetry::SteadyNow;

IdleWatch::IdleWatch(Duration idle)
    : idle_(idle),
      period_(
          std::clamp<Duration>(idle / 8, std::chrono::milliseconds(1), std::chrono::seconds(1))),
      thread_([this] { Run(); }) {}

IdleWatch::~IdleWatch() {
  {
    std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void IdleWatch::Add(std::weak_ptr<Moving> stream) {
  std::lock_guard lock(mutex_);
  streams_.push_back(std::move(stream));
  wake_.notify_all();
}

void IdleWatch::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return is_stopping_ || !streams_.empty(); });
    const Time looked = SteadyNow();
    if (wake_.wait_for(lock, period_, [this] { return is_stopping_; })) return;
    const std::vector<std::shared_ptr<Moving>> alive = Alive();
    const bool is_late = SteadyNow() - looked > 2 * period_ + std::chrono::seconds(1);
    lock.unlock();
    if (!is_late) Look(alive);
    lock.lock();
  }
}

std::vector<std::shared_ptr<Moving>> IdleWatch::Alive() {
  std::vector<std::shared_ptr<Moving>> alive;
  for (const std::weak_ptr<Moving>& stream : streams_) {
    if (std::shared_ptr<Moving> one = stream.lock()) alive.push_back(std::move(one));
  }
  std::erase_if(streams_, [](const std::weak_ptr<Moving>& stream) { return stream.expired(); });
  return alive;
}

void IdleWatch::Look(const std::vector<std::shared_ptr<Moving>>& streams) const {
  for (const std::shared_ptr<Moving>& stream : streams) {
    const Time moved = stream->moved();
    if (moved != Time::max() && SteadyNow() - moved >= idle_) stream->EndIdle(idle_);
  }
}

}  // namespace paceline::ps
