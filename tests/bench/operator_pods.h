// Defines PodWatch: how many pods there are, as a watch of the bench's own tells it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "lib/kube/client/client.h"
#include "lib/kube/runtime/informer.h"

namespace paceline::bench {

using Clock = std::chrono::steady_clock;

// An informer and no bare watch: of a client that is slow for a moment the server ends the watch.
// Thread-safe. `client` outlives this.
class PodWatch {
 public:
  // Empty: all pods; "status.phase=Running": those that run, and each is added when it begins to.
  PodWatch(kube::Client& client, const std::string& field_selector);

  int added() const;  // Since the start, those that have gone since as well.
  // Seconds from `since` until that many had been added; nothing if that took too long.
  std::optional<double> SecondsUntilAdded(int pods, Clock::time_point since);
  bool WaitUntilNone();

 private:
  void Count(const kube::ObjectChange& change);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int added_ = 0;
  int present_ = 0;
  kube::Informer informer_;  // Last: it ends before the rest goes.
};

}  // namespace paceline::bench
