// Defines what a worker (or evaluator) and the coordinator say to each other, as values.
//
// lib/rpc carries them over gRPC; nothing here knows how they travel.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/base/wire_type.h"
#include "lib/protocol/frozen_tensors.h"
#include "lib/store/layout.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/event.h"

namespace paceline::protocol {

// Positions [begin, end) of an epoch's order: shuffled, or that of the script's own sampler.
struct SampleRange {
  uint64_t epoch = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t size() const { return end - begin; }
  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

struct LeaseTag {
  static constexpr const char* kPrefix = "l";
};
using LeaseId = Id<LeaseTag>;  // Unique within a generation.

// Samples that one worker may use, and nobody else until it hands them back or is lost.
struct Lease {
  LeaseId id;
  std::vector<SampleRange> ranges;
  friend bool operator==(const Lease&, const Lease&) = default;
};

// --- Worker to coordinator.

enum class Role { kWorker, kEvaluator };

// First message of a session.
struct Join {
  Role role = Role::kWorker;
  WorkerId worker;  // Its index, in its group; ignored for an evaluator.
  store::Layout layout;
  uint64_t train_samples = 0;  // Of an epoch: the training set's size, as this worker reads it.
  std::string device = {};     // That it computes on: "CPU", "CUDA".
  std::optional<uint64_t> attempt = std::nullopt;  // Which start of its index the process is.
  WireTypes wire_types = {};                       // As it will push and pull.
  uint32_t threads = 0;                            // That it computes with; 0: it does not say.
  std::string group = {};                          // Empty: the job has no groups.
  // The script's own, whose positions an epoch is, by its name. Empty: none.
  std::string sampler = {};
  std::vector<FrozenTensor> frozen = {};  // That no shard has, each worker the same.
};

// What a worker does, where several things at once: the first that applies.
enum class Doing {
  kComputing,     // Inside a step.
  kInScript,      // A step is to be made, and its script does what is no part of one.
  kDelayed,       // Sleeping there, because spec.chaos says so.
  kTransferring,  // Pulling or pushing.
  kWaiting,
};

// At least every HeartbeatPeriod of Admitted, also while a step hangs.
struct Heartbeat {
  Doing doing = Doing::kWaiting;
  uint64_t steps = 0;  // Computed since the session began.
  // kComputing, kInScript: for how long without a sign of progress. Counted in the worker's own
  // heartbeats, so that a process that was frozen, or a busy machine, does not look like a step
  // that hangs.
  Duration still{};
};

// Bytes of parameters, gradients and deltas since the push before, this one included; of transfers
// that ended well, each counted once.
struct Traffic {
  uint64_t pushed_bytes = 0;
  uint64_t pulled_bytes = 0;
};

// All shards have acknowledged the push.
struct PushDone {
  Generation generation;
  Sequence sequence;
  Version based_on;
  uint32_t steps = 1;
  uint32_t samples = 0;
  uint64_t correct = 0;         // Of the samples, for the training accuracy on display.
  std::vector<LeaseId> leases;  // Leases that it used up, all of their samples.
  sync::Timing timing;
  sync::GradientFacts gradient;
  sync::Signals signals;
  Duration shard_time{};  // Until the shards had this push, beside computing or not.
  uint32_t spread = 0;    // Versions that shards were apart in what it was computed on.
  Traffic traffic;
  // The first one in the layout's order of what was pushed; empty: all are finite, or only the loss
  // is not.
  std::string non_finite_tensor;
  double loss_scale = 0;  // Of the next step; 0 without loss scaling.
  // Parameters of which no step of the push had a gradient, by place in the layout, ascending. Who
  // does not say so had all of them.
  std::vector<uint32_t> without_gradient = {};
  // Of the samples, those that the step did without: the script skipped them, or its collate
  // function left them out. The gradient and the loss are means over the others. All of them: the
  // push says nothing.
  uint32_t skipped = 0;
};

// The step was given up; its leases go back.
struct Abandoned {
  Sequence sequence;
  sync::AbandonReason reason = sync::AbandonReason::kInterrupted;
  uint32_t samples_fit = 0;
  std::vector<LeaseId> leases;
  double loss_scale = 0;  // As of PushDone.
};

// An evaluator's answer to Evaluate.
struct Evaluated {
  Version version;
  double loss = 0;
  std::optional<double> accuracy;  // 0..1; nothing where it cannot be told.
  uint64_t samples = 0;
  std::string accuracy_from = {};              // What it is of, or why there is none; for people.
  std::map<std::string, double> metrics = {};  // The model's own, by name.
};

// Before the worker's first step of an epoch, in each session anew: what its script's sampler has
// drawn for that. Workers that draw alike say the same.
struct Drawn {
  uint64_t epoch = 0;
  uint64_t positions = 0;
  uint64_t digest = 0;
  friend bool operator==(const Drawn&, const Drawn&) = default;
};

// Drained: nothing outstanding, leases handed back; the session ends.
struct Leaving {
  bool is_done = false;  // Nobody has asked it to: its script has ended, and no other is to come.
};
// Cannot go on (wrong data, out of memory at one sample); the session ends.
struct Failing {
  std::string reason;
  // Of a script that failed before the first step of its process: what failed, where. Equal for
  // equal causes, whatever the reason says of a sample; empty: it may be the samples' fault alone.
  std::string cause = {};
};

// How one is copied, moved and ended is compiled once, in worker_messages.cc: it is long for so
// many kinds.
struct WorkerMessage
    : std::variant<Join, Heartbeat, PushDone, Abandoned, Evaluated, Leaving, Failing, Drawn> {
  using variant::variant;
  WorkerMessage();
  WorkerMessage(const WorkerMessage& other);
  WorkerMessage(WorkerMessage&& other) noexcept;
  WorkerMessage& operator=(const WorkerMessage& other);
  WorkerMessage& operator=(WorkerMessage&& other) noexcept;
  ~WorkerMessage();
};

// --- Coordinator to worker.

struct ShardAddress {
  ShardId shard;
  std::string address;  // As gRPC names it: unix:/path or host:port.
  store::Slice slice;
};

struct Admitted {
  Incarnation incarnation;
  Generation generation;
  Duration heartbeat_period{};
  uint64_t seed = 0;
  // The worker's number, by which shards know it; absent: its index, the job has no groups.
  std::optional<WorkerId> worker = std::nullopt;
  bool compares_draws = false;   // It knows Join::sampler and Drawn; an older coordinator does not.
  bool compares_frozen = false;  // Join::frozen, likewise.
};

// The shards are configured; sent after Admitted, before anything that needs them.
struct Shards {
  std::vector<ShardAddress> shards;
};

enum class RefuseReason {
  kLayoutDiffers,   // From the first worker's, by tensor name in the detail.
  kHoldsFrozen,     // It holds as buffers what this worker has frozen; otherwise it is the same.
  kDataDiffers,     // The training set has another size, or the script another sampler.
  kNetworkDiffers,  // Numbers would travel in another type; by the field's name in the detail.
  kUnknownWorker,   // More workers than there may be.
  kAlreadyJoined,   // Another live process has this index.
  kExpelled,        // This very process was.
  kFinished,        // The job is over.
};
struct Refused {
  RefuseReason reason;
  std::string detail;
};

struct Fill {};  // Stream the initial values to all shards.
struct Released {
  Version version;
  sync::Exactness exactness = sync::Exactness::kExact;
  std::optional<Sequence> includes;
  sync::Assignment assignment;
  Lease lease;
  double learning_rate = 0;  // Of local steps: the schedule's, for now.
};
struct Offered {
  Version version;
};
struct Continued {
  sync::Assignment assignment;
  Lease lease;
  double learning_rate = 0;  // As in Released.
};
// Give the step up whose push would have that sequence, in work or not begun yet. Any other goes
// on, and what was pushed stays pushed.
struct Interrupted {
  Sequence sequence;
};
struct Expelled {
  std::string reason;
};  // The session ends; the process should exit.
struct Evaluate {
  Version version;
};  // Exact; pinned until the answer.
struct Finish {
  std::string reason;
};  // The job is over or the worker is drained: leave.

// How one is copied, moved and ended is compiled once, in worker_messages.cc: it is long for so
// many kinds.
struct WorkerOrder : std::variant<Admitted, Shards, Refused, Fill, Released, Offered, Continued,
                                  Interrupted, Expelled, Evaluate, Finish> {
  using variant::variant;
  WorkerOrder();
  WorkerOrder(const WorkerOrder& other);
  WorkerOrder(WorkerOrder&& other) noexcept;
  WorkerOrder& operator=(const WorkerOrder& other);
  WorkerOrder& operator=(WorkerOrder&& other) noexcept;
  ~WorkerOrder();
};

}  // namespace paceline::protocol
