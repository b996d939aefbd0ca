// Defines Pacing: how soon to look at a key of which there is news, where news come in swarms.
//
// Example:
//   queue.AddAfter(key, pacing.DelayAt(key, Pacing::Clock::now()));   // a pod has changed
//   ...
//   pacing.Looked(key, Pacing::Clock::now());                          // it is looked at now
#pragma once

#include <chrono>
#include <map>
#include <mutex>

#include "lib/base/time.h"
#include "lib/kube/core/object_key.h"

namespace paceline::kube {

// The first news after a quiet time is looked at soon, later ones together: a key whose hundred
// pods start is looked at a few times and not a hundred. Thread-safe; forgets a key by itself.
class Pacing {
 public:
  using Clock = std::chrono::steady_clock;

  // `soon`: what is waited for more news at the least. `gap`: between two looks because of news.
  Pacing(Duration soon, Duration gap);

  Duration DelayAt(const ObjectKey& key, Clock::time_point now) const;
  void Looked(const ObjectKey& key, Clock::time_point now);

  size_t size() const;  // Keys that it remembers.

 private:
  const Duration soon_;
  const Duration gap_;
  mutable std::mutex mutex_;
  std::map<ObjectKey, Clock::time_point> looked_;
  Clock::time_point cleaned_;
};

}  // namespace paceline::kube
