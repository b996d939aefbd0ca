// Defines CurlLoop: the event loop, and libcurl's transfers on it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include <curl/curl.h>

#include "lib/kube/client/event_loop.h"

namespace paceline::kube {

class CurlLoop : public EventLoop {
 public:
  // Connections kept open beside those in use.
  explicit CurlLoop(long connections_max);
  ~CurlLoop() override;  // As Stop.

  bool Post(std::function<void()> run) override;
  TimerId After(Duration delay, std::function<void()> run) override;
  bool Cancel(TimerId timer) override;
  bool IsLoopThread() const override;

  // On the loop's thread only. `done` runs when the transfer has ended, after which the handle is
  // the caller's again.
  void Add(CURL* easy, std::function<void(CURLcode)> done);
  void Remove(CURL* easy);  // Its `done` does not run.

  // Runs what was posted before, then `last`, and ends the thread. Idempotent.
  void Stop(std::function<void()> last);

 private:
  using Clock = std::chrono::steady_clock;

  void Run();
  void RunPosted();
  void RunTimers();
  void Reap();
  int PollMs();

  CURLM* multi_;
  std::unordered_map<CURL*, std::function<void(CURLcode)>> transfers_;  // Of the loop's thread.

  std::mutex mutex_;
  bool is_stopping_ = false;
  std::vector<std::function<void()>> posted_;
  TimerId last_timer_ = 0;
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers_;
  std::unordered_map<TimerId, Clock::time_point> timer_times_;
  std::thread thread_;
};

}  // namespace paceline::kube
