// Defines Starved: the workers that were sent on and found no samples to lease, and when that is
// worth another look.
//
// Example:
//   starved.FoundNone(worker);
//   starved.MayFind();               // Samples came back.
//   if (starved.TakeNews()) ...      // Say so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "lib/base/ids.h"

namespace paceline::coordination {

// A value. What is asked of it after each fact takes the same time however many they are.
class Starved {
 public:
  void FoundNone(WorkerId worker);
  void FoundSome(WorkerId worker);  // It, or another one: there are fewer samples.
  void Forget(WorkerId worker);

  // There are samples that were not there before, or others than before may have them.
  void MayFind();

  // Whether somebody of whom `is_it` says so might find some, and will hear of it: nobody has had
  // a turn since they came back.
  template <class F>
  bool HasHope(F is_it) const {
    return told_ == 0 && hopeless_ < at_.size() &&
           std::any_of(at_.begin(), at_.end(), [&](const auto& one) {
             return !IsHopeless(one.second) && is_it(one.first);
           });
  }

  // Whether something has changed since the last call for one that might find some now. That
  // another one found none is news, too: what is suspected is not for everybody. But not for ever:
  // once each has had a turn those that might find some do not look.
  bool TakeNews();

  std::string Describe() const;  // Equal for equal ones.

 private:
  bool IsHopeless(uint64_t at) const { return at == changes_; }

  std::map<WorkerId, uint64_t> at_;  // Of how many changes each had the good when it found none.
  uint64_t changes_ = 0;
  size_t hopeless_ = 0;  // Found none since the last change.
  size_t told_ = 0;      // How often there was news since, and since somebody found some.
  bool is_news_ = false;
};

}  // namespace paceline::coordination
