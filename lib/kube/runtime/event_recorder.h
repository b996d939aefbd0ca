// Defines EventRecorder: tells people, by events.k8s.io/v1, what happens to an object.
//
// Example:
//   EventRecorder recorder(*client, {.controller = "example.com/operator", .instance = hostname});
//   recorder.Record({.regarding = *job, .type = EventType::kWarning, .reason = "WorkerLost",
//                    .action = "ReplaceWorker", .note = "worker 3 on node-1 is gone"});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/kube/client/client.h"
#include "lib/kube/core/json.h"

namespace paceline::kube {

enum class EventType { kNormal, kWarning };

// Whether an object that has said too much may say this yet.
enum class EventWeight {
  kOrdinary,
  kFinal,  // It may: how the object ended. Nobody says that often.
};

struct Event {
  Json regarding;  // The object; apiVersion, kind and metadata are read.
  EventType type = EventType::kNormal;
  std::string reason;  // CamelCase word, at most 128 bytes.
  std::string action;  // What was or will be done: CamelCase, at most 128 bytes; empty: the reason.
  std::string note;    // For people; cut to 1024 bytes.
  Json related;        // Another object; null: none.
  EventWeight weight = EventWeight::kOrdinary;
};

struct EventRecorderOptions {
  std::string controller;                     // reportingController: "example.com/operator".
  std::string instance;                       // reportingInstance: the pod's name.
  int burst = 25;                             // Of ordinary events about one object, then...
  Duration refill = Seconds(5 * 60);          // ...one more each.
  Duration series_idle = Seconds(6 * 60);     // An equal event within it counts into the series.
  Duration series_write = Seconds(10);        // A series is written at most that often.
  int objects_max = 4096;                     // Remembered; the longest unused are forgotten.
  int pending_max = 1000;                     // Being written; more ordinary ones are dropped.
  std::function<void(const Status&)> failed;  // An event that could not be written; for logs.
};

// Thread-safe. Record never blocks and never fails; what cannot be written is dropped and counted.
// Equal events (object, reason, action, type, note) become one with a series: the second one at
// once, later ones gathered.
class EventRecorder {
 public:
  // `client` outlives it.
  EventRecorder(Client& client, EventRecorderOptions options);
  ~EventRecorder();  // Drops what is not written yet; Flush before.
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void Record(const Event& event);
  // Waits until what was recorded is written, at most that long. Not on the loop's thread.
  Status Flush(Duration deadline);

  uint64_t dropped() const;

 private:
  class Writer;
  std::shared_ptr<Writer> writer_;
};

}  // namespace paceline::kube
