// Defines Watcher: asks a run's coordinator for its state, all the time, and keeps what it said.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/integration/live_run.h"
#include "tests/soak/stand_still.h"

namespace paceline::soak {

double NowSeconds();  // Of the steady clock.

// A thread of its own: a coordinator that is frozen answers late. Thread-safe.
class Watcher {
 public:
  Watcher(const integration::LiveRun* run, double patience_seconds);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  nlohmann::json state() const;  // The last one; null before there is one.

  void FaultBegan();
  void FaultsEnded(int count);
  void Excuse();
  bool IsHung() const;
  uint64_t TakeSteps();
  double TakeLongest();
  double longest_seconds() const;
  double standing_seconds() const;

 private:
  void Run();

  const integration::LiveRun* const run_;
  mutable std::mutex mutex_;
  StandStill still_;
  nlohmann::json state_;
  bool is_stopping_ = false;
  std::condition_variable stopping_;
  std::thread thread_;  // Last: it uses the rest.
};

}  // namespace paceline::soak
