// Defines WorkQueue: keys that need attention, each at most once, failures later and later.
//
// Example:
//   WorkQueue queue({.name = "pods"});
//   queue.Add({"team-a", "web-0"});
//   while (std::optional<ObjectKey> key = queue.Take()) {   // nothing: shut down
//     Look(*key).ok() ? queue.Forget(*key) : queue.AddRateLimited(*key);
//     queue.Done(*key);
//   }
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "lib/base/time.h"
#include "lib/kube/core/object_key.h"

namespace paceline::kube {

enum class Priority { kNormal, kLow };  // kLow: resyncs and first lists, behind what just happened.

struct WorkQueueMetrics {  // Each may be empty; called under no lock, from any thread.
  std::function<void(size_t depth)> depth;
  std::function<void()> added;
  std::function<void(double seconds)> waited;  // In the queue.
  std::function<void(double seconds)> worked;  // From Take to Done.
  std::function<void()> retried;
};

struct WorkQueueOptions {
  std::string name;
  Duration backoff_min = Seconds(0.005);  // Of a key: doubles with each AddRateLimited, up to...
  Duration backoff_max = Seconds(1000);
  WorkQueueMetrics metrics;
};

// Thread-safe.
class WorkQueue {
 public:
  explicit WorkQueue(WorkQueueOptions options = {});
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // No effect if it waits already (but raises its priority); if it is being worked on, it comes
  // again after Done.
  void Add(const ObjectKey& key, Priority priority = Priority::kNormal);
  // Of several times for one key the earliest counts; Add does not cancel it.
  void AddAfter(const ObjectKey& key, Duration delay);
  // AddAfter with the key's own backoff, which Forget resets, or with `at_least` if that is longer.
  void AddRateLimited(const ObjectKey& key, Duration at_least = Duration::zero());
  void Forget(const ObjectKey& key);
  int Failures(const ObjectKey& key) const;  // AddRateLimited since the last Forget.

  // Blocks for the next key; Done has to follow. Nothing once shut down and drained.
  std::optional<ObjectKey> Take();
  void Done(const ObjectKey& key);

  // What waits is still taken (not what is timed for later), new keys are refused.
  void ShutDown();
  // The same, and drops what waits.
  void ShutDownNow();

  size_t depth() const;                    // Waiting, without the timed ones.
  size_t in_work() const;                  // Between Take and Done.
  double longest_running_seconds() const;  // Of those in work.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace paceline::kube
