// Defines Simulate: a job under a virtual clock. The coordination and the policy that decide are
// the server's own (lib/coordination, lib/sync); workers, their links and the shard are models.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/chaos/delays.h"
#include "lib/job/manifest/training_job.h"
#include "lib/optim/schedule.h"
#include "lib/protocol/worker_messages.h"
#include "lib/sync/schemes/policy_spec.h"
#include "simulator/driver/absence.h"
#include "simulator/driver/occurrence.h"
#include "simulator/driver/wires.h"
#include "simulator/model/computing.h"
#include "simulator/model/objective.h"
#include "simulator/model/quadratic.h"

namespace paceline::simulator {

struct ClusterOptions {
  sync::PolicySpec policy;  // How many workers it expects is worked out.
  std::vector<ComputeModel> workers;
  NetworkModel network;
  double interrupt_seconds = 0;  // From the decision until the worker is free.
  double commit_seconds = 0;     // Of a version, one after the other, until it can be pulled.
  // A TrainingJob's spec.chaos: delays of steps and slow links, on top of those above. Valid; of
  // its traces, the text.
  job::Chaos injected;
  chaos::TraceTexts injected_traces;
  std::vector<Absence> absences;
  std::vector<Outage> outages;
  // Without a word a worker counts as lost then; one that an outage silenced joins anew at its end.
  double silent_seconds = 6;
  uint64_t train_samples = 1'000'000'000'000;  // Of an epoch, at least 1.
  QuadraticModel objective;
  // In the place of the quadratic; null: that. Outlives the life.
  Objective* model = nullptr;
  // The loss is computed once so many pushes were committed since it was, and is what it was of
  // versions between; at least 1. Nothing but its own time is saved.
  uint32_t loss_every_pushes = 1;
  // Likewise so long after it was, as a job's evaluator looks at a version now and then.
  double loss_every_seconds = 0;
  double learning_rate = 0.1;
  optim::ScheduleOptions schedule;  // Of it; its base and global batch are worked out.
  double momentum = 0;
  uint64_t seed = 1;
  // What ends it, whichever comes first; 0: does not.
  uint64_t steps_max = 0;
  uint64_t epochs_max = 0;  // That are complete; it ends as where there are no more steps.
  double seconds_max = 0;
  double target_loss = 0;
  // Given each line of the policy's trace (lib/sync/trace/trace.h); empty: nobody wants it.
  std::function<void(std::string_view)> trace = {};
  // Given all that is done, once it is; empty: nobody wants to see it.
  std::function<void(const Occurrence&)> watch = {};
  // Given the samples of each push that a version holds; empty: nobody asks.
  std::function<void(const protocol::SampleRange&)> counted = {};
};

enum class Ending { kSteps, kSeconds, kTarget, kDiverged };
std::string_view ToString(Ending ending);  // "steps", ...

struct VersionFacts {
  double at_seconds = 0;
  double loss = 0;      // Of the objective itself, without noise.
  uint32_t pushes = 0;  // In it.
};

struct Life {
  Ending ending = Ending::kSteps;
  double seconds = 0;
  std::vector<VersionFacts> versions;  // From version 1 on.
  uint64_t pushes = 0, dropped = 0, interrupted = 0;
  uint64_t crashes = 0;     // Sessions that an outage ended included.
  uint64_t poisoned = 0;    // Samples left out, since processes ended that computed them.
  uint64_t epochs = 0;      // That are complete.
  uint64_t happenings = 0;  // Of the queue.
  // Of all workers' time: computing, that of steps which came to nothing included; those; and pulls
  // and pushes beside which nothing was computed.
  double compute_seconds = 0, wasted_seconds = 0, transfer_seconds = 0;
};

// Equal options give an equal life, wherever libm rounds alike. The loss is said to diverge at
// 1,000 times that of the start, or where it is no number.
//
// InvalidArgument for a policy that sync::MakePolicy refuses, or an injected trace; Internal if the
// policy breaks its contract, or all stands still; the errors of the objective.
StatusOr<Life> Simulate(const ClusterOptions& options);

}  // namespace paceline::simulator
