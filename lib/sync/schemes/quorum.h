// Defines Quorum: how many members' pushes make a version, and what that is learnt from.
//
// The engine tells it each step's course; it answers with k. The engine bounds the answer by what
// can still arrive, so that a quorum need not follow losses within a step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/time.h"
#include "lib/base/version.h"
#include "lib/sync/contract/event.h"
#include "lib/sync/contract/figure.h"

namespace paceline::sync {

// Workers compute on `version` from now on, which all shards have published.
struct StepBegan {
  Version version;
  uint32_t members = 0;  // Workers with data, late ones included.
  uint32_t workers = 0;  // Of those, whom to count on: neither silent nor of non-finite pushes.
};

// A push of the running step was taken, the `rank`th (from 1).
struct PushCounted {
  WorkerId worker;
  uint32_t rank = 0;
  uint32_t samples = 0;
  Timing timing;
  GradientFacts gradient;
};

// A push of an earlier step came, and was dropped.
struct PushLate {
  WorkerId worker;
  Version based_on;
  uint32_t samples = 0;
  Timing timing;
};

// The running step was committed with the pushes that were counted. StepCommitted follows when the
// next version is published, before the next StepBegan.
struct StepClosed {
  uint32_t pushes = 0;
};

// From the next release on somebody's part of a step is of another size, by so much that times seen
// before say little of those to come.
struct SizesChanged {};

struct WorkerForgotten {
  WorkerId worker;
};

// Its deadline passed: who has not pushed by now is not waited for in this step, nor in any until
// it is heard of.
struct SilentGivenUp {
  std::vector<WorkerId> workers;
};

using StepFact = std::variant<StepBegan, PushCounted, PushLate, StepClosed, StepCommitted,
                              SizesChanged, WorkerForgotten, SilentGivenUp, Spare>;

// As a Policy: no clock, no thread, no randomness; `now` never decreases; equal calls, equal
// answers.
class Quorum {
 public:
  virtual ~Quorum() = default;

  virtual void Observe(const StepFact& fact, Time now) = 0;

  // k of the running step, of which `taking_part` workers are part. At least 1.
  virtual uint32_t PushesWanted(uint32_t taking_part) const = 0;

  // Of the schedule's rate, for a step that closes with `pushes`.
  virtual double LearningRateScale(uint32_t /*pushes*/) const { return 1; }

  // When those who have not pushed are given up; absent: never.
  virtual std::optional<Time> Deadline() const { return std::nullopt; }

  virtual bool WantsSpare() const { return false; }
  virtual void Tell(std::vector<Figure>&) const {}

  // What was learnt, for a checkpoint; empty if it learns nothing.
  virtual std::string Save() const { return ""; }

  // The whole state on one line: equal lines, equal futures.
  virtual std::string DebugString() const { return ""; }

  virtual std::unique_ptr<Quorum> Clone() const = 0;
};

// All but `backup_workers`: BSP, and static backup workers.
class FixedBackup : public Quorum {
 public:
  explicit FixedBackup(uint32_t backup_workers) : backup_workers_(backup_workers) {}

  void Observe(const StepFact&, Time) override {}
  uint32_t PushesWanted(uint32_t taking_part) const override {
    return taking_part > backup_workers_ ? taking_part - backup_workers_ : 1;
  }
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<FixedBackup>(*this); }

 private:
  uint32_t backup_workers_;
};

// So many, whoever takes part: one for schemes in which each push makes a version.
class FixedCount : public Quorum {
 public:
  explicit FixedCount(uint32_t count) : count_(count) {}

  void Observe(const StepFact&, Time) override {}
  uint32_t PushesWanted(uint32_t) const override { return count_; }
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<FixedCount>(*this); }

 private:
  uint32_t count_;
};

}  // namespace paceline::sync
