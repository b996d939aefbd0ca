#include "lib/telemetry/http_workers.h"

#include <utility>

#include "lib/base/limits.h"

namespace paceline::telemetry {
namespace {

constexpr size_t kOrdinaryThreads = 3;

}  // namespace

HttpWorkers::HttpWorkers() {
  probes_.threads.emplace_back([this] { Run(probes_); });
  for (size_t i = 0; i < kOrdinaryThreads; ++i)
    ordinary_.threads.emplace_back([this] { Run(ordinary_); });
}

bool HttpWorkers::Submit(HttpLane lane, std::function<void()> work) {
  Lane& into = LaneOf(lane);
  {
    std::lock_guard lock(into.mutex);
    if (into.is_stopping || into.waiting.size() >= limits::kHttpRequestsWaitingMax) return false;
    into.waiting.push_back(std::move(work));
  }
  into.changed.notify_one();
  return true;
}

void HttpWorkers::Stop() {
  for (Lane* lane : {&probes_, &ordinary_}) {
    std::lock_guard lock(lane->mutex);
    lane->is_stopping = true;
    lane->waiting.clear();
    lane->changed.notify_all();
  }
  for (Lane* lane : {&probes_, &ordinary_}) {
    for (std::thread& thread : lane->threads) thread.join();
    lane->threads.clear();
  }
}

void HttpWorkers::Run(Lane& lane) {
  std::unique_lock lock(lane.mutex);
  for (;;) {
    lane.changed.wait(lock, [&] { return lane.is_stopping || !lane.waiting.empty(); });
    if (lane.is_stopping) return;
    const std::function<void()> work = std::move(lane.waiting.front());
    lane.waiting.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
}

}  // namespace paceline::telemetry
