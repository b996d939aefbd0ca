// Defines Controller: a few threads that work on the keys of a queue, each key on one at a time.
//
// Example:
//   Controller controller({.name = "widgets", .threads = 4,
//                          .reconcile = [&](const ObjectKey& key) -> StatusOr<Result> {
//                            PACELINE_RETURN_IF_ERROR(MakeItSo(key));
//                            return Result{.requeue_after = Seconds(60)};
//                          }});
//   controller.Start();
//   controller.queue().Add(key);
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/runtime/work_queue.h"

namespace paceline::kube {

struct Result {
  std::optional<Duration> requeue_after;  // Nothing: when something changes.
};

// Marks an error that trying again cannot mend: the key is not retried until it is added again.
Status Terminal(const Status& status);
bool IsTerminal(const Status& status);

enum class Outcome { kDone, kRequeued, kFailed, kTerminal, kThrew };
std::string_view ToString(Outcome outcome);  // "done", "requeued", "failed", "terminal", "threw"

struct ReconcileRecord {
  ObjectKey key;
  Outcome outcome = Outcome::kDone;
  double seconds = 0;
  int failures = 0;  // In a row, this one included.
  Status status;     // Of an exception: Internal with its text.
};

struct ControllerOptions {
  std::string name;  // Its threads are called so too, as far as 15 bytes go.
  int threads = 2;
  // May block. An error is retried with the key's backoff. An exception counts as an error: one bad
  // object never stops the others.
  std::function<StatusOr<Result>(const ObjectKey&)> reconcile;
  // After each; for logs and metrics. On the thread that reconciled.
  std::function<void(const ReconcileRecord&)> observe;
  WorkQueueOptions queue;
};

// Thread-safe.
class Controller {
 public:
  explicit Controller(ControllerOptions options);
  // Stops as Stop does.
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  WorkQueue& queue() { return queue_; }
  // Does nothing after Stop, so that who starts it need not know whether somebody stops it.
  void Start();
  // Finishes what is being worked on and drops the rest; blocks until the threads are gone.
  void Stop();

 private:
  void Work();
  ReconcileRecord Reconcile(const ObjectKey& key, Result& result);

  ControllerOptions options_;
  WorkQueue queue_;
  std::mutex mutex_;  // Of the rest; not taken by the threads, so that they can be waited for.
  bool is_stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace paceline::kube
