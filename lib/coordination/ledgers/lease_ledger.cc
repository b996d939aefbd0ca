#include "lib/coordination/ledgers/lease_ledger.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/epoch_order.h"

namespace paceline::coordination {

using protocol::Lease;
using protocol::LeaseId;
using protocol::SampleRange;

namespace {

constexpr uint64_t kEpochsOpenMax = 2;

}  // namespace

LeaseLedger::LeaseLedger(const Options& options) : options_(options) {
  PACELINE_CHECK(options.train_samples > 0, "a training set has no samples");
}

paceline::StatusOr<LeaseLedger> LeaseLedger::Restore(const Options& options, const Saved& saved) {
  LeaseLedger ledger(options);
  for (const Saved::Complete& epoch : saved.complete) {
    if (epoch.committed + epoch.discarded != options.train_samples) {
      return InvalidArgument("complete epoch {} has {} samples, want {}", ledger.completed_.size(),
                             epoch.committed + epoch.discarded, options.train_samples);
    }
    ledger.completed_.push_back(
        {ledger.completed_.size(), 0, 0, 0, epoch.committed, epoch.discarded, epoch.skipped});
  }
  ledger.reported_ = ledger.completed_.size();
  for (const Saved::Open& one : saved.open) {
    const uint64_t first = ledger.completed_.size();
    if (one.epoch < first || one.epoch >= first + kEpochsOpenMax ||
        ledger.open_.contains(one.epoch))
      return InvalidArgument("epoch {} cannot be open after {} complete ones", one.epoch, first);
    Epoch& epoch = ledger.open_[one.epoch];
    epoch.skipped = one.skipped;
    std::vector<std::pair<uint64_t, uint64_t>> used;
    const auto fill = [&](const auto& intervals, IntervalSet& set) {
      for (const auto& [begin, end] : intervals) {
        used.emplace_back(begin, end);
        if (begin >= end || end > options.train_samples || set.Overlaps(begin, end)) return false;
        set.Add(begin, end);
      }
      return true;
    };
    const bool is_sound =
        fill(one.committed, epoch.committed) && fill(one.discarded, epoch.discarded);
    std::sort(used.begin(), used.end());
    uint64_t at = 0;
    for (const auto& [begin, end] : used) {
      if (!is_sound || begin < at)
        return InvalidArgument("epoch {} has positions [{}, {}) that cannot be", one.epoch, begin,
                               end);
      ledger.AddFree({one.epoch, at, begin});
      at = end;
    }
    ledger.AddFree({one.epoch, at, options.train_samples});
  }
  ledger.CompleteOldest();
  return ledger;
}

LeaseLedger::Saved LeaseLedger::Save(const std::map<LeaseId, uint64_t>& committed) const {
  LeaseLedger copy = *this;
  for (const auto& [lease, skipped] : committed) copy.Commit(lease, skipped);
  std::vector<LeaseId> out;
  copy.leases_.ForEach([&](LeaseId lease, const LeaseTable::Grantee&) { out.push_back(lease); });
  for (const LeaseId lease : out) copy.End(lease, *copy.leases_.Find(lease), &Epoch::free);
  Saved saved;
  for (const Count& count : copy.completed_)
    saved.complete.push_back({count.committed, count.discarded, count.skipped});
  const auto list = [](const IntervalSet& set) {
    return std::vector<std::pair<uint64_t, uint64_t>>(set.intervals().begin(),
                                                      set.intervals().end());
  };
  for (const auto& [number, epoch] : copy.open_)
    saved.open.push_back({number, list(epoch.committed), list(epoch.discarded), epoch.skipped});
  return saved;
}

bool LeaseLedger::OpenNext() {
  const uint64_t next = next_epoch();
  if (next >= completed_.size() + kEpochsOpenMax) return false;
  if (IsBeyond(next)) return false;
  open_[next];
  AddFree({next, 0, options_.train_samples});
  suspects_.SetLast(false);
  LocatePoisoned(next);
  DiscardPoisoned();
  return true;
}

// What came back as overtaken is so until it counts: that never changes while it is free.
void LeaseLedger::AddFree(const SampleRange& range) {
  Epoch& epoch = open_.at(range.epoch);
  epoch.free.Add(range.begin, range.end);
  overtaken_.ForEachOther(range,
                          [&epoch](uint64_t begin, uint64_t end) { epoch.fresh.Add(begin, end); });
}

void LeaseLedger::TakeFree(const SampleRange& range) {
  Epoch& epoch = open_.at(range.epoch);
  epoch.free.Take(range.begin, range.end);
  overtaken_.ForEachOther(range,
                          [&epoch](uint64_t begin, uint64_t end) { epoch.fresh.Take(begin, end); });
}

// That nobody suspects, and that did not come back as overtaken if `is_late`; of open epochs.
std::optional<SampleRange> LeaseLedger::FirstFree(bool is_late) const {
  for (const auto& [number, epoch] : open_) {
    if (IsBeyond(number)) return std::nullopt;
    for (const auto& [begin, end] : (is_late ? epoch.fresh : epoch.free).intervals()) {
      const SampleRange range = suspects_.Unsuspected({number, begin, end});
      if (range.size() > 0) return range;
    }
  }
  return std::nullopt;
}

void LeaseLedger::TakeUnsuspected(uint64_t samples, bool is_late, Lease& lease) {
  while (samples > 0) {
    std::optional<SampleRange> range = FirstFree(is_late);
    if (!range && OpenNext()) continue;
    if (!range) return;
    range->end = std::min(range->end, range->begin + samples);
    TakeFree(*range);
    open_.at(range->epoch).leased += range->size();
    samples -= range->size();
    lease.ranges.push_back(*range);
  }
}

bool LeaseLedger::TakeSuspect(WorkerId worker, const std::vector<WorkerId>& others,
                              uint64_t samples, Suspects::Whose whose, Lease& lease) {
  if (suspects_.empty()) return false;
  const auto range = suspects_.Pick(worker, others, samples, whose, [this](const SampleRange& one) {
    return !IsBeyond(one.epoch) && IsFree(one);
  });
  if (!range) return false;
  TakeFree(*range);
  open_.at(range->epoch).leased += range->size();
  lease.ranges.push_back(*range);
  return true;
}

std::optional<Lease> LeaseLedger::Grant(WorkerId worker, uint64_t samples,
                                        const std::vector<WorkerId>& others,
                                        const std::vector<LeaseId>& unpushed, bool leaves) {
  if (samples == 0) return std::nullopt;
  FindPoisoned();
  if (std::ranges::any_of(unpushed, [this](LeaseId held) { return IsSuspect(held); }))
    return std::nullopt;
  const bool may_suspect = unpushed.empty();
  Lease lease{LeaseId(next_lease_), {}};
  if (!may_suspect || !TakeSuspect(worker, others, samples, Suspects::Whose::kNew, lease)) {
    const bool is_late = overtaken_.IsLate(worker);
    TakeUnsuspected(samples, is_late, lease);
    if (is_late && lease.ranges.empty() && FirstFree(false)) {
      if (leaves) return std::nullopt;
      TakeUnsuspected(samples, false, lease);
    }
    if (lease.ranges.empty()) suspects_.SetLast(true);
    for (const Suspects::Whose whose : {Suspects::Whose::kLast, Suspects::Whose::kAny})
      if (may_suspect && lease.ranges.empty()) TakeSuspect(worker, others, samples, whose, lease);
  }
  if (lease.ranges.empty()) return std::nullopt;
  ++next_lease_;
  leases_.Add(lease.id, {worker, false, lease.ranges});
  held_[worker].push_back(lease.id);
  return lease;
}

bool LeaseLedger::IsHeld(WorkerId worker, LeaseId lease) const {
  const LeaseTable::Grantee* found = leases_.Find(lease);
  return found != nullptr && found->worker == worker && !found->is_accumulated;
}

std::vector<LeaseId> LeaseLedger::Held(WorkerId worker) const {
  const auto found = held_.find(worker);
  return found == held_.end() ? std::vector<LeaseId>() : found->second;
}

uint64_t LeaseLedger::size(LeaseId lease) const {
  const LeaseTable::Grantee* found = leases_.Find(lease);
  if (found == nullptr) return 0;
  uint64_t samples = 0;
  for (const SampleRange& range : found->ranges) samples += range.size();
  return samples;
}

uint64_t LeaseLedger::available() const {
  uint64_t samples = 0;
  for (const auto& [number, epoch] : open_)
    if (!IsBeyond(number)) samples += epoch.free.size();
  for (uint64_t next = next_epoch(); next < completed_.size() + kEpochsOpenMax; ++next)
    if (!IsBeyond(next)) samples += options_.train_samples;
  return samples;
}

void LeaseLedger::SetEpochsMax(uint64_t epochs_max) {
  options_.epochs_max = epochs_max;
  ++returns_;
}

void LeaseLedger::End(LeaseId lease, const LeaseTable::Grantee& grantee, IntervalSet Epoch::*to) {
  if (to == &Epoch::free) ++returns_;
  for (const SampleRange& range : grantee.ranges) {
    Epoch& epoch = open_.at(range.epoch);
    (grantee.is_accumulated ? epoch.accumulated : epoch.leased) -= range.size();
    if (to == &Epoch::free) {
      AddFree(range);
    } else {
      (epoch.*to).Add(range.begin, range.end);
    }
  }
  if (!grantee.is_accumulated) NotHeld(lease, grantee.worker);
  leases_.Erase(lease);
  CompleteOldest();
}

void LeaseLedger::NotHeld(LeaseId lease, WorkerId worker) {
  std::erase(held_.find(worker)->second, lease);
}

void LeaseLedger::Return(LeaseId lease) {
  LeaseTable::Grantee* found = leases_.Find(lease);
  if (found != nullptr && !found->is_accumulated) End(lease, *found, &Epoch::free);
}

void LeaseLedger::Discard(LeaseId lease) {
  LeaseTable::Grantee* found = leases_.Find(lease);
  if (found != nullptr && !found->is_accumulated) End(lease, *found, &Epoch::discarded);
}

void LeaseLedger::Overtake(LeaseId lease) {
  LeaseTable::Grantee* found = leases_.Find(lease);
  if (found == nullptr || found->is_accumulated) return;
  for (const SampleRange& range : found->ranges) overtaken_.Add(found->worker, range);
}

void LeaseLedger::ReturnAllOf(WorkerId worker) {
  overtaken_.Forget(worker);
  for (const LeaseId lease : Held(worker)) End(lease, *leases_.Find(lease), &Epoch::free);
}

void LeaseLedger::Accumulate(LeaseId lease) {
  LeaseTable::Grantee* found = leases_.Find(lease);
  if (found == nullptr || found->is_accumulated) return;
  NotHeld(lease, found->worker);
  found->is_accumulated = true;
  for (const SampleRange& range : found->ranges) {
    overtaken_.Counted(found->worker, range);
    Epoch& epoch = open_.at(range.epoch);
    epoch.leased -= range.size();
    epoch.accumulated += range.size();
  }
}

void LeaseLedger::Commit(LeaseId lease, uint64_t skipped) {
  LeaseTable::Grantee* found = leases_.Find(lease);
  if (found == nullptr || !found->is_accumulated) return;
  const bool is_all_skipped = skipped >= size(lease);
  for (const SampleRange& range : found->ranges) {
    if (!is_all_skipped) suspects_.Acquit(range);
    const uint64_t of_it = std::min(skipped, range.size());
    open_.at(range.epoch).skipped += of_it;
    skipped -= of_it;
  }
  End(lease, *found, &Epoch::committed);
}

bool LeaseLedger::IsAnySuspected() const {
  return !suspects_.empty() || !news_.empty() ||
         std::any_of(open_.begin(), open_.end(),
                     [](const auto& entry) { return !entry.second.poisoned.empty(); });
}

bool LeaseLedger::IsBeyond(uint64_t epoch) const {
  return options_.epochs_max > 0 && epoch >= options_.epochs_max;
}

bool LeaseLedger::IsFree(const SampleRange& range) const {
  const auto epoch = open_.find(range.epoch);
  return epoch != open_.end() && epoch->second.free.Contains(range.begin, range.end);
}

bool LeaseLedger::IsSuspect(LeaseId lease) const {
  const LeaseTable::Grantee* found = leases_.Find(lease);
  return found != nullptr && std::ranges::any_of(found->ranges, [this](const SampleRange& range) {
           return suspects_.IsSuspect(range);
         });
}

uint64_t LeaseLedger::FirstEpoch(LeaseId lease) const {
  const LeaseTable::Grantee* found = leases_.Find(lease);
  return found == nullptr || found->ranges.empty() ? 0 : found->ranges.front().epoch;
}

void LeaseLedger::Accuse(LeaseId lease, WorkerId worker, Suspects::Word word) {
  const LeaseTable::Grantee* found = leases_.Find(lease);
  if (found == nullptr) return;
  for (const SampleRange& range : found->ranges) suspects_.Accuse(range, worker, word);
}

bool LeaseLedger::IsExcuse(LeaseId lease, WorkerId worker) const {
  const LeaseTable::Grantee* found = leases_.Find(lease);
  if (found == nullptr) return false;
  return std::any_of(found->ranges.begin(), found->ranges.end(),
                     [&](const SampleRange& range) { return suspects_.IsExcuse(range, worker); });
}

// Splits may follow splits where a part was accused before its worker was lost.
void LeaseLedger::FindPoisoned() {
  DiscardPoisoned();
  if (suspects_.empty()) return CompleteOldest();
  for (const SampleRange& range :
       suspects_.Convict([this](const SampleRange& one) { return IsFree(one); })) {
    if (options_.order == Order::kDrawn) {
      if (poisoned_drawn_.emplace(range.epoch, range.begin).second)
        news_.push_back({range.epoch, range.begin, range.begin, true});
      LocatePoisoned(range.epoch);
      continue;
    }
    EpochOrder order(options_.train_samples, options_.seed);
    const uint64_t sample = order.Epoch(range.epoch)[range.begin];
    if (!poisoned_.insert(sample).second) continue;  // Found where it stands in another epoch.
    news_.push_back({range.epoch, range.begin, sample});
    for (auto& [number, epoch] : open_) LocatePoisoned(number);
  }
  DiscardPoisoned();
  CompleteOldest();
}

// The same samples stand elsewhere in each epoch.
void LeaseLedger::LocatePoisoned(uint64_t number) {
  if (poisoned_.empty() && poisoned_drawn_.empty()) return;
  Epoch& epoch = open_.at(number);
  const auto is_done = [&](uint64_t position) {
    return epoch.committed.Contains(position, position + 1) ||
           epoch.discarded.Contains(position, position + 1);
  };
  for (const auto& [drawn_for, position] : poisoned_drawn_)
    if (drawn_for == number && !is_done(position)) epoch.poisoned.insert(position);
  if (poisoned_.empty()) return;
  EpochOrder order(options_.train_samples, options_.seed);
  const std::span<const uint32_t> samples = order.Epoch(number);
  for (uint64_t position = 0; position < samples.size(); ++position) {
    if (poisoned_.contains(samples[position]) && !is_done(position))
      epoch.poisoned.insert(position);
  }
}

// What is leased comes back, or is committed.
void LeaseLedger::DiscardPoisoned() {
  for (auto& [number, epoch] : open_) {
    for (auto at = epoch.poisoned.begin(); at != epoch.poisoned.end();) {
      const uint64_t position = *at++;
      if (!epoch.free.Contains(position, position + 1)) continue;
      TakeFree({number, position, position + 1});
      epoch.discarded.Add(position, position + 1);
      epoch.poisoned.erase(position);
      suspects_.Forget(number, position);
    }
  }
}

std::vector<PoisonedSample> LeaseLedger::TakePoisoned() {
  FindPoisoned();
  return std::exchange(news_, {});
}

void LeaseLedger::Inherit(const LeaseLedger& before) {
  suspects_ = before.suspects_;
  suspects_.SetLast(false);
  poisoned_ = before.poisoned_;
  poisoned_drawn_ = before.poisoned_drawn_;
  for (const auto& [number, epoch] : open_) LocatePoisoned(number);
  DiscardPoisoned();
  CompleteOldest();
}

void LeaseLedger::CompleteOldest() {
  while (!open_.empty()) {
    const auto& [number, epoch] = *open_.begin();
    if (epoch.committed.size() + epoch.discarded.size() < options_.train_samples) return;
    completed_.push_back(
        {number, 0, 0, 0, epoch.committed.size(), epoch.discarded.size(), epoch.skipped});
    overtaken_.Forget(number);
    open_.erase(open_.begin());
    ++returns_;  // Another one may be opened.
  }
}

std::vector<uint64_t> LeaseLedger::TakeCompleted() {
  std::vector<uint64_t> epochs;
  for (; reported_ < completed_.size(); ++reported_) epochs.push_back(reported_);
  return epochs;
}

uint64_t LeaseLedger::skipped() const {
  uint64_t sum = 0;
  for (const Count& count : completed_) sum += count.skipped;
  for (const auto& [number, epoch] : open_) sum += epoch.skipped;
  return sum;
}

bool LeaseLedger::IsAllSkipped(uint64_t epoch) const {
  if (epoch >= completed_.size()) return false;
  const Count& count = completed_[epoch];
  return count.skipped > 0 && count.skipped == options_.train_samples;
}

bool LeaseLedger::is_complete() const {
  return options_.epochs_max > 0 && completed_.size() >= options_.epochs_max;
}

std::vector<LeaseLedger::Count> LeaseLedger::counts(size_t complete_max) const {
  const auto shown = static_cast<ptrdiff_t>(std::min(complete_max, completed_.size()));
  std::vector<Count> counts(completed_.end() - shown, completed_.end());
  for (const auto& [number, epoch] : open_) {
    counts.push_back({number, epoch.free.size(), epoch.leased, epoch.accumulated,
                      epoch.committed.size(), epoch.discarded.size(), epoch.skipped});
  }
  return counts;
}

paceline::Status LeaseLedger::Check() const {
  for (const auto& [number, epoch] : open_) {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (const IntervalSet* set : {&epoch.free, &epoch.committed, &epoch.discarded}) {
      ranges.insert(ranges.end(), set->intervals().begin(), set->intervals().end());
    }
    uint64_t leased = 0, accumulated = 0;
    leases_.ForEach([&, number = number](LeaseId, const LeaseTable::Grantee& lease) {
      for (const SampleRange& range : lease.ranges) {
        if (range.epoch != number) continue;
        ranges.emplace_back(range.begin, range.end);
        (lease.is_accumulated ? accumulated : leased) += range.size();
      }
    });
    if (leased != epoch.leased || accumulated != epoch.accumulated) {
      return Internal("epoch {} counts differ from its leases: {} leased, {} accumulated", number,
                      epoch.leased, epoch.accumulated);
    }
    IntervalSet fresh;
    for (const auto& [begin, end] : epoch.free.intervals()) {
      overtaken_.ForEachOther({number, begin, end},
                              [&](uint64_t from, uint64_t to) { fresh.Add(from, to); });
    }
    if (fresh.intervals() != epoch.fresh.intervals())
      return Internal("epoch {} does not know which of its free positions are fresh", number);
    std::sort(ranges.begin(), ranges.end());
    uint64_t at = 0;
    for (const auto& [begin, end] : ranges) {
      if (begin < at)
        return Internal("epoch {} has positions [{}, {}) in two states", number, begin, at);
      if (begin > at)
        return Internal("epoch {} has positions [{}, {}) in no state", number, at, begin);
      at = end;
    }
    if (at != options_.train_samples) {
      return Internal("epoch {} ends at position {}, want {}", number, at, options_.train_samples);
    }
  }
  return OkStatus();
}

std::string LeaseLedger::Describe() const {
  std::string text = fmt::format("epochs {}", completed_.size());
  for (const auto& [number, epoch] : open_) {
    text += fmt::format("|e{}", number);
    for (const auto& [begin, end] : epoch.free.intervals())
      text += fmt::format(" f{}-{}", begin, end);
    for (const auto& [begin, end] : epoch.discarded.intervals())
      text += fmt::format(" d{}-{}", begin, end);
    text += fmt::format(" s{}", epoch.skipped);
  }
  leases_.ForEach([&text](LeaseId, const LeaseTable::Grantee& lease) {
    text += fmt::format("|{}{}", lease.worker, lease.is_accumulated ? "a" : "l");
    for (const SampleRange& range : lease.ranges)
      text += fmt::format(" {}:{}-{}", range.epoch, range.begin, range.end);
  });
  for (const uint64_t sample : poisoned_) text += fmt::format("|poisoned {}", sample);
  return text + suspects_.Describe() + overtaken_.Describe();
}

}  // namespace paceline::coordination
