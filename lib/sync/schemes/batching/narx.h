// Defines Narx: predicts a worker's speed from its past speeds and from how much CPU and memory it
// had and has (LB-BSP: non-linear autoregressive model with exogenous inputs).
//
//   log v^k = f(log v^{k-1..k-5}, c^{k..k-2}, m^{k..k-2})
//
// The past speeds that f sees are measured ones, never its own predictions (the series-parallel
// form), since the true one is always known by then; so f needs no training through time. The
// abstract of the paper calls NARX an extended recurrent network: this form is our choice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "lib/sync/contract/event.h"
#include "lib/sync/schemes/batching/network.h"

namespace paceline::sync {

// A running mean and spread; of the newest 256 values or so.
class Scale {
 public:
  void Add(double value);
  // How many spreads `value` is from the mean, at most 5 either way.
  double Of(double value) const;
  double Back(double scaled) const { return mean + scaled * Spread(); }
  double Spread() const;

  double count = 0;
  double mean = 0;
  double variance = 0;
};

class Narx {
 public:
  static constexpr size_t kSpeeds = 5;    // p: past speeds.
  static constexpr size_t kReadings = 3;  // q + 1: readings, the current one included.
  static constexpr size_t kExamplesMax = 256;
  static constexpr size_t kBatch = 32;
  static constexpr uint32_t kTrainingsPerStep = 4;

  explicit Narx(uint64_t seed) : seed_(seed), network_(seed) {}

  // A step's speed, in samples per second, and what was read when it was over.
  void Add(double speed, const Signals& signals);

  // The next step's speed; nothing before there is enough to look back on and something was learnt.
  std::optional<double> Predict() const;

  size_t examples() const { return records_.size() - std::min(records_.size(), kSpeeds); }
  // Training that is due, in minibatches. One Train makes one of them.
  uint32_t trainings_due() const { return trainings_due_; }
  void Train();

  // What was learnt, without the examples.
  struct Learnt {
    Scale speed, cpu, memory;
    Network::Weights weights;
  };
  std::optional<Learnt> learnt() const;
  void Restore(const Learnt& learnt);

 private:
  struct Record {
    double log_speed = 0;
    std::optional<double> cpu, memory;  // When the step was over: what the next one begins with.
  };
  const Record& At(size_t index) const { return records_[(oldest_ + index) % records_.size()]; }
  // What is known before record `index`, which may be the one to come.
  Network::Inputs InputsBefore(size_t index) const;

  uint64_t seed_;
  Network network_;
  Scale speed_, cpu_, memory_;
  std::vector<Record> records_;  // A ring: the newest, with what the oldest example looks back on.
  size_t oldest_ = 0;
  uint64_t trainings_ = 0;
  uint32_t trainings_due_ = 0;
};

}  // namespace paceline::sync
