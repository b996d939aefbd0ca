// Defines Overtaken: which samples came back because a version did not wait for their step, and
// whose last step ended so.
//
// Such samples are for whoever is in time. A worker that was late is likely to be late again, and
// what it computes then comes to nothing: it goes on with others, which the next in time takes over
// in their turn. So each sample counts soon, however uneven the workers are.
//
// Example:
//   Overtaken overtaken;
//   overtaken.Add(WorkerId(3), {0, 8, 16});
//   overtaken.IsLate(WorkerId(3));         // True, until a step of it counts.
//   overtaken.FirstOther({0, 8, 20});      // [16, 20)
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lib/base/id_table.h"
#include "lib/base/ids.h"
#include "lib/coordination/ledgers/interval_set.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::coordination {

// A value. Memory grows with the number of intervals that came back so and have not counted since.
class Overtaken {
 public:
  // That worker's step of the range came to nothing since a version was made without it.
  void Add(WorkerId worker, const protocol::SampleRange& range);
  // That worker's step of the range counts.
  void Counted(WorkerId worker, const protocol::SampleRange& range);
  // Nothing is known of the worker's next life; nobody computes that epoch any more.
  void Forget(WorkerId worker) { late_.erase(worker); }
  void Forget(uint64_t epoch) { epochs_.erase(epoch); }

  bool IsLate(WorkerId worker) const { return late_.contains(worker); }
  // The first part of the range that did not come back so; empty if there is none.
  protocol::SampleRange FirstOther(const protocol::SampleRange& range) const;
  // Calls `use` with the begin and the end of each such part.
  template <class Use>
  void ForEachOther(protocol::SampleRange range, Use use) const {
    while (range.size() > 0) {
      const protocol::SampleRange other = FirstOther(range);
      if (other.size() > 0) use(other.begin, other.end);
      range.begin = other.end;
    }
  }

  std::string Describe() const;  // Equal for equal ones.

 private:
  IdSet<WorkerId> late_;
  std::map<uint64_t, IntervalSet> epochs_;  // Positions.
};

}  // namespace paceline::coordination
