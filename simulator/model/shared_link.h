// Defines SharedLink: a link whose bandwidth all transfers on it share alike.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "lib/base/time.h"

namespace paceline::simulator {

// Processor sharing: of n transfers under way each gets the n-th part, as fair queueing or TCP of
// equal round trips does. O(log n) for each call, however many share it: what is counted is the
// bytes that one transfer that was always there would have had by now (virtual time of Parekh,
// Gallager 1993), and a transfer ends when they have grown by its size. Times of ends are rounded
// up to nanoseconds. One owner; `now` never decreases.
class SharedLink {
 public:
  // 0 or less: without bound, transfers take no time.
  explicit SharedLink(double bytes_per_second);

  // A number that says which it is.
  void Begin(Time now, uint64_t transfer, double bytes);
  // When the next one ends if none is begun before; nothing without any.
  std::optional<Time> NextEnd() const;
  // One that has ended by `now`, in the order of their ends, then of their beginning.
  std::optional<uint64_t> TakeEnded(Time now);

 private:
  void Advance(Time now);
  using Transfer = std::tuple<double, uint64_t, uint64_t>;  // Of `had_` at its end; order; number.

  const double bytes_per_second_;
  std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>> under_way_;
  uint64_t order_ = 0;
  double had_ = 0;
  Time at_{};
};

}  // namespace paceline::simulator
