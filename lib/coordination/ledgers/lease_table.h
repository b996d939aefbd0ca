// Defines LeaseTable: the leases that are out, by their numbers.
//
// Leases are numbered as they are given and end in about that order. So they lie in one piece of
// memory by number; what has ended leaves a hole, and holes go when they are more than the rest.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "lib/base/ids.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::coordination {

// A value. What is found is good until something is added or erased.
class LeaseTable {
 public:
  struct Grantee {
    WorkerId worker;
    bool is_accumulated = false;
    std::vector<protocol::SampleRange> ranges;
  };

  // Its number is above all that were ever added.
  void Add(protocol::LeaseId lease, Grantee grantee) {
    entries_.push_back({lease, true, std::move(grantee)});
    ++count_;
  }
  // Null where there is none.
  Grantee* Find(protocol::LeaseId lease) {
    const size_t at = PlaceOf(lease);
    return at < entries_.size() ? &entries_[at].grantee : nullptr;
  }
  const Grantee* Find(protocol::LeaseId lease) const {
    const size_t at = PlaceOf(lease);
    return at < entries_.size() ? &entries_[at].grantee : nullptr;
  }
  void Erase(protocol::LeaseId lease);  // Is there.

  bool empty() const { return count_ == 0; }
  // In order of their numbers.
  template <class F>
  void ForEach(F f) const {
    for (const Entry& entry : entries_)
      if (entry.is_there) f(entry.lease, entry.grantee);
  }

 private:
  struct Entry {
    protocol::LeaseId lease;
    bool is_there = false;
    Grantee grantee;
  };

  size_t PlaceOf(protocol::LeaseId lease) const;  // entries_.size() where there is none.

  std::vector<Entry> entries_;  // In order of their numbers.
  size_t count_ = 0;            // That are there.
};

}  // namespace paceline::coordination
