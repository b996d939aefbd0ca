#include "lib/coordination/ledgers/lease_table.h"

#include <algorithm>
#include <cstdint>

namespace paceline::coordination {

using protocol::LeaseId;

namespace {

constexpr size_t kHolesMin = 64;

}  // namespace

size_t LeaseTable::PlaceOf(LeaseId lease) const {
  if (entries_.empty() || lease < entries_.front().lease || entries_.back().lease < lease)
    return entries_.size();
  // As far behind the last one as if no number were missing between; it cannot be further.
  const uint64_t behind = entries_.back().lease.value() - lease.value();
  const auto first =
      entries_.end() - static_cast<ptrdiff_t>(std::min<uint64_t>(behind + 1, entries_.size()));
  auto found = first;
  if (found->lease != lease) {
    found = std::lower_bound(first, entries_.end(), lease, [](const Entry& entry, LeaseId sought) {
      return entry.lease < sought;
    });
  }
  const bool is_there = found->lease == lease && found->is_there;
  return is_there ? static_cast<size_t>(found - entries_.begin()) : entries_.size();
}

void LeaseTable::Erase(LeaseId lease) {
  entries_[PlaceOf(lease)] = {lease, false, {}};
  --count_;
  if (entries_.size() > 2 * count_ + kHolesMin)
    std::erase_if(entries_, [](const Entry& entry) { return !entry.is_there; });
}

}  // namespace paceline::coordination
