// Defines Unlucky: which samples came back too often because the step that they were in was
// interrupted. A step of those is not interrupted again: however unevenly the workers are fast,
// each sample is computed to the end in its third try at the latest.
//
// Example:
//   Unlucky unlucky;
//   unlucky.Interrupted({0, 8, 16});
//   unlucky.Interrupted({0, 8, 12});
//   unlucky.Holds({0, 11, 20});  // True: 11 has come back twice.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/coordination/ledgers/interval_set.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::coordination {

// A value. Memory grows with the number of intervals that interrupts have left in open epochs.
class Unlucky {
 public:
  // The range came back because its step was interrupted.
  void Interrupted(const protocol::SampleRange& range);
  // Whether some of it came back so twice.
  bool Holds(const protocol::SampleRange& range) const;
  // Nobody computes that epoch any more.
  void Forget(uint64_t epoch) { epochs_.erase(epoch); }

  std::string Describe() const;  // Equal for equal ones.

 private:
  struct Epoch {
    IntervalSet once;   // Positions...
    IntervalSet twice;  // ...each in one of both at most.
  };
  std::map<uint64_t, Epoch> epochs_;
};

}  // namespace paceline::coordination
