// Defines Checkpoint: what a job can go on from, as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/base/version.h"
#include "lib/coordination/judging.h"
#include "lib/coordination/ledgers/lease_ledger.h"
#include "lib/coordination/ledgers/seats.h"
#include "lib/protocol/worker_messages.h"
#include "lib/store/layout.h"
#include "lib/store/sha256.h"

namespace paceline::coordination {

// After roll backs for gradients that were not finite.
struct Damping {
  uint32_t roll_backs = 0;
  double learning_rate_scale = 1;  // The product of all that they asked for.
  friend bool operator==(const Damping&, const Damping&) = default;
};

// How far training was to go and at which rate; both may change while a job runs. The job says what
// holds, this is for those who want to know what has changed since.
struct CourseThen {
  uint64_t epochs_max = 0;  // 0: no bound.
  uint64_t steps_max = 0;
  double base_rate = 0;  // Of the schedule.
  friend bool operator==(const CourseThen&, const CourseThen&) = default;
};

// All that the coordinator needs to go on from a version, as it was when that version's commit was
// asked for. What was leased, staged or accumulated beyond it is free again.
struct CheckpointState {
  struct Worker {
    WorkerId worker;
    uint64_t steps = 0;
    uint64_t samples_committed = 0;
    uint64_t accepted = 0;
    uint64_t dropped = 0;
  };

  Version version;
  uint64_t seed = 0;  // Of the epochs' orders.
  uint64_t train_samples = 0;
  store::Layout layout;
  // What workers have by themselves; checkpoints of earlier versions do not say.
  std::optional<std::vector<protocol::FrozenTensor>> frozen;
  LeaseLedger::Saved leases;
  uint64_t committed_samples = 0;  // Where the learning rate's schedule stands.
  double loss = 0;                 // Of the latest commit, for display.
  double train_accuracy = 0;
  uint64_t nonfinite_pushes = 0;
  std::optional<protocol::Evaluated> evaluation;
  Judged judged;
  std::optional<Measure> measure;           // That it is judged by; earlier checkpoints have none.
  std::optional<protocol::Evaluated> kept;  // Of the best version, which the slices hold, too.
  std::vector<Worker> workers;
  std::vector<Seats::Given> seats;  // Of a job with groups.
  Damping damping;
  std::optional<CourseThen> course;  // Checkpoints of earlier versions have none.
  std::string policy;                // Policy::Save; the shell's to fill in and to use.
};

struct Checkpoint {
  std::string name;     // Its folder's.
  uint64_t serial = 0;  // Grows with each attempt; never used twice.
  Generation generation;
  CheckpointState state;
  std::vector<store::FileDigest> slices;   // By rank.
  std::optional<Time> cut = std::nullopt;  // When, in this coordinator's life.
};

struct CheckpointOptions {
  Duration period = Seconds(300);  // Between the cuts of two.
  // Set: as far apart as it takes that they cost at most so much of training's time, a part of 1;
  // `period` is the least then. Training does not wait for the first one, and ends without a last
  // one unless it is suspended.
  std::optional<double> cost_max = std::nullopt;
  uint32_t keep = 3;                // Complete ones that are there to go back to; at least 1.
  Duration timeout = Seconds(600);  // Without a byte written by any shard; then it is given up.
  uint64_t serial = 0;              // The largest that was ever used.
  std::string folder;               // Of new ones' names, "a1b2/", where others' lie beside them.
  std::vector<Checkpoint> found;    // To go on from, oldest first.
};

}  // namespace paceline::coordination
