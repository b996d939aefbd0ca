// Defines CurlLoop: the event loop, and libcurl's transfers on it.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include <curl/curl.h>

#include "lib/kube/client/event_loop.h"

namespace paceline::kube {

// Waits with epoll, so that one answer costs the same however many transfers wait beside it.
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
  void WaitForSockets();
  void Reap();
  int WaitMs();
  void Wake();
  // What libcurl calls: which socket it waits for, and until when it wants to be called anyway.
  static int SocketWanted(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int TimeWanted(CURLM* multi, long ms, void* self);

  CURLM* multi_;
  int epoll_ = -1;
  int wake_ = -1;                                                       // An eventfd.
  std::optional<Clock::time_point> curl_due_;                           // Of the loop's thread.
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
