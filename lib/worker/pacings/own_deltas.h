// Defines OwnDeltas: what a worker has pushed and not yet seen in a version that it pulled.
//
// A version that was asked for before a push was applied does not hold it; the worker's copy is
// that version and, on top, each of its own deltas that the version lacks, as they were sent. Which
// it holds is known by the sequence of the last one that was answered when the version was
// published. That makes any order of answers safe: nothing is applied twice, nothing is forgotten.
//
// Example, of a worker that pulled a version with its pushes up to #7 in it:
//   own.Answered(Sequence(7));      // Forgets them.
//   own.AddTo(values);              // The version's values become the worker's copy.
//   own.Add(delta);                 // The next push, on its way...
//   own.Name(Sequence(8));          // ...and what it is called.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/ids.h"

namespace paceline::worker {

// Memory: one copy of the parameters for each delta that it keeps, reused. A value.
class OwnDeltas {
 public:
  // Of that many parameters.
  explicit OwnDeltas(size_t size) : size_(size) {}

  // A push that will be sent with these values, scales included.
  void Add(std::span<const float> delta);
  // A push of which nothing will ever be in a version: it is not finite.
  void AddRejected();
  // What the oldest push without a name is called.
  void Name(Sequence sequence);

  // All up to that one were answered: what was accepted of them is in the version.
  void Answered(Sequence includes);
  // Pushes that would be left after that.
  size_t LeftAfter(std::optional<Sequence> includes) const;
  size_t size() const { return kept_.size(); }
  void Clear();

  // Adds what is kept to the values of a version, in the order in which it was pushed.
  void AddTo(std::span<float> values) const { AddTo(values, 0, std::nullopt); }
  // Of positions from `begin` on only, which come from a shard that has applied all up to
  // `applied`: shards may answer with different versions.
  void AddTo(std::span<float> part, size_t begin, std::optional<Sequence> applied) const;

 private:
  struct Kept {
    std::optional<Sequence> sequence;  // Absent: not sent yet.
    std::vector<float> delta;          // Empty: rejected.
  };
  static bool IsApplied(const Kept& kept, std::optional<Sequence> applied) {
    return kept.sequence && applied && *kept.sequence <= *applied;
  }
  void Forget();

  size_t size_;
  std::deque<Kept> kept_;                 // In the order of pushes.
  std::vector<std::vector<float>> free_;  // Memory for more.
};

}  // namespace paceline::worker
