// Defines HttpWorkers: the few threads that answer requests, in two lanes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/telemetry/http_endpoint.h"

namespace paceline::telemetry {

// Probes have a thread to themselves: whatever the others do, they are answered. Thread-safe.
class HttpWorkers {
 public:
  HttpWorkers();
  ~HttpWorkers() { Stop(); }

  // False, and nothing will run, if too much waits in this lane already or after Stop.
  bool Submit(HttpLane lane, std::function<void()> work);

  // Forgets what has not begun and waits for what has. Idempotent.
  void Stop();

 private:
  struct Lane {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    bool is_stopping = false;
    std::vector<std::thread> threads;
  };

  static void Run(Lane& lane);
  Lane& LaneOf(HttpLane lane) { return lane == HttpLane::kProbe ? probes_ : ordinary_; }

  Lane probes_;
  Lane ordinary_;
};

}  // namespace paceline::telemetry
