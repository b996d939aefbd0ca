// Defines Event: what a synchronisation policy is told. Scalars only, never a tensor.
//
// Events come from lib/coordination, which has already refused what is late, doubled or from an
// earlier life: a policy sees each push once, and only from workers that it was told have joined.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/base/version.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

// Where a worker's time went since its previous push was sent, on its own clock.
struct Timing {
  Duration compute{};        // Forward and backward passes, injected delays included.
  Duration wait{};           // Nothing to do: waiting for a release.
  Duration communication{};  // Pulling and pushing that did not overlap computation.
  Duration overlapped{};     // Pulling and pushing that did; of no part of the time above.
  Duration injected{};       // Of compute, slept on purpose. For reports: no policy looks at it.
};

// What is known of a pushed gradient or delta without its tensor.
struct GradientFacts {
  double loss = 0;          // Mean over the push's samples, at the parameters it was computed on.
  double squared_norm = 0;  // Sum of squares over all shards, of the parameters' part.
  bool is_finite = true;    // False if any element, or the loss, is NaN or infinite.
  bool is_excused = false;  // Not finite, and its samples are to blame: nobody's strike.
  // Of no sample, all of which the script did without: it answers its round, and neither time nor
  // loss nor norm say anything.
  bool is_empty = false;
};

// Readings of the worker's host; absent where it has no such sensor.
struct Signals {
  std::optional<double> cpu_available;     // Share of the worker's CPU quota that is free, 0..1.
  std::optional<double> memory_available;  // Bytes until the worker's limit.
};

enum class LeaveReason { kDrained, kDisconnected, kSilent, kExpelled };
// kOverflow: gradients under loss scaling; the next step's scale is lower.
enum class AbandonReason { kInterrupted, kOutOfMemory, kOverflow };
enum class QuiesceReason { kStop, kSuspend, kSchemeChange };

struct WorkerJoined {
  WorkerId worker;
};
struct WorkerLeft {
  WorkerId worker;
  LeaveReason reason = LeaveReason::kDisconnected;
};

// The push lies staged on every shard, unaccumulated.
struct PushArrived {
  WorkerId worker;
  Sequence sequence;
  Version based_on;      // The version that the push was computed on.
  uint32_t steps = 1;    // Local steps it carries; more than one only for keep-going pacings.
  uint32_t samples = 0;  // Samples it carries, at least 1.
  Timing timing;
  GradientFacts gradient;
  Signals signals;
  uint32_t spread = 0;  // Versions that shards were apart in what it was computed on.
};

// A step that ended without a push; its samples went back to the lease ledger.
struct StepAbandoned {
  WorkerId worker;
  Sequence sequence;
  AbandonReason reason = AbandonReason::kInterrupted;
  uint32_t samples_fit = 0;  // kOutOfMemory: the largest batch believed to fit.
};

// All shards have published `version`.
struct StepCommitted {
  Version version;
  double learning_rate = 0;  // As applied, all scales included but that of clipping.
  double squared_norm = 0;   // Of the mean gradient that was applied, before clipping.
  double clip_scale = 1;     // Of that gradient, from gradientClipNorm: at most 1.
};

struct DeadlineReached {};  // `now` is at or past Policy::Deadline().
struct OutOfData {
  WorkerId worker;
};  // Its release found no samples to lease: it waits, and counts in no barrier,
    // trigger or staleness minimum until it is released again.
struct SamplesReturned {
  uint64_t samples = 0;
};  // So many are there to lease again, at least 1, and somebody who is out of data may have some.
struct Quiesce {
  QuiesceReason reason;
  Time deadline;
};  // Release and continue nobody; answer every push.
struct Spare {
  uint32_t budget = 0;
};  // Maintenance: at most `budget` units of counted work.
struct Reconfigured {
  PolicySpec spec;
};  // Knobs of the same scheme are others from now on, as MayReconfigure allows; nobody stops for
    // it.

// How one is copied, moved and ended is compiled once, in event.cc: it is long for so many kinds.
struct Event
    : std::variant<WorkerJoined, WorkerLeft, PushArrived, StepAbandoned, StepCommitted,
                   DeadlineReached, OutOfData, SamplesReturned, Quiesce, Spare, Reconfigured> {
  using variant::variant;
  Event();
  Event(const Event& other);
  Event(Event&& other) noexcept;
  Event& operator=(const Event& other);
  Event& operator=(Event&& other) noexcept;
  ~Event();
};

}  // namespace paceline::sync
