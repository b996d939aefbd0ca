// Defines LeaseLedger: which samples of which epoch are free, leased, accumulated, committed or
// discarded.
//
// Every epoch is `train_samples` positions of an order, and every position of an open epoch is in
// exactly one of those states. Two epochs are open at most, the oldest that is not complete
// and the next, so that only the last epoch of a job can run dry.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/id_table.h"
#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/coordination/ledgers/interval_set.h"
#include "lib/coordination/ledgers/lease_table.h"
#include "lib/coordination/ledgers/overtaken.h"
#include "lib/coordination/ledgers/suspects.h"
#include "lib/protocol/worker_messages.h"

namespace paceline::coordination {

// A sample that made two workers ill, or killed them, and is left out: for good, or, where the
// script's own sampler has drawn it, at that position alone.
struct PoisonedSample {
  uint64_t epoch = 0;
  uint64_t position = 0;  // Of the epoch's order.
  uint64_t sample = 0;    // Of the training set; of what a sampler has drawn, the position.
  bool is_drawn = false;  // It has.
  friend bool operator==(const PoisonedSample&, const PoisonedSample&) = default;
};

// A value. Time and memory grow with the number of leases that are out, not with the number of
// samples.
class LeaseLedger {
 public:
  // What stands at an epoch's positions. kShuffled: as EpochOrder says. kDrawn: what the script's
  // own sampler has drawn, which the ledger does not know.
  enum class Order { kShuffled, kDrawn };
  struct Options {
    uint64_t train_samples = 1;  // At least 1.
    uint64_t epochs_max = 0;     // 0: no bound.
    uint64_t seed = 0;           // Of the epochs' orders.
    Order order = Order::kShuffled;
  };
  struct Count {
    uint64_t epoch, free, leased, accumulated, committed, discarded;
    uint64_t skipped = 0;  // Of the committed: the script did without them.
  };

  // A ledger at rest: nothing is leased or accumulated.
  struct Saved {
    struct Complete {
      uint64_t committed = 0;
      uint64_t discarded = 0;
      uint64_t skipped = 0;  // Of the committed.
    };
    struct Open {
      uint64_t epoch = 0;
      std::vector<std::pair<uint64_t, uint64_t>> committed, discarded;  // [begin, end), in order.
      uint64_t skipped = 0;                                             // Of the committed.
    };
    std::vector<Complete> complete;  // By epoch.
    std::vector<Open> open;
  };

  explicit LeaseLedger(const Options& options);
  // InvalidArgument if no ledger of these options could have been saved so.
  static paceline::StatusOr<LeaseLedger> Restore(const Options& options, const Saved& saved);

  // The ledger as it would be if the pushes of these leases were published and everything else were
  // handed back. `committed`: how many samples of each lease were skipped.
  Saved Save(const std::map<protocol::LeaseId, uint64_t>& committed) const;

  // At most `samples` positions: what was handed back first, then the oldest open epoch, then the
  // next. A lease may reach over the border of two epochs. Nothing if no position is free and none
  // may be opened yet. What is suspected of being poisoned goes by itself, and first, to a worker
  // that has not accused it; to one that has only if none of `others` may try it. `unpushed`: what
  // the worker holds and has not pushed. Beside that it gets no suspect, and beside a suspect it
  // gets nothing: what it falls ill of, or hangs on, is that one then. A worker that is late takes
  // what came back as overtaken only where there is nothing else, and never if it `leaves` that to
  // others.
  std::optional<protocol::Lease> Grant(WorkerId worker, uint64_t samples,
                                       const std::vector<WorkerId>& others = {},
                                       const std::vector<protocol::LeaseId>& unpushed = {},
                                       bool leaves = false);

  // --- Which samples are poisoned (suspects.h). Of unknown leases: nothing happens.
  void Accuse(protocol::LeaseId lease, WorkerId worker, Suspects::Word word);
  bool IsExcuse(protocol::LeaseId lease, WorkerId worker) const;
  bool IsSuspect(protocol::LeaseId lease) const;       // Of any of its positions.
  uint64_t FirstEpoch(protocol::LeaseId lease) const;  // 0 for an unknown one.
  void Believe(WorkerId worker) { suspects_.Believe(worker); }
  bool IsAnySuspected() const;  // Or known to be poisoned, and not left out yet.
  // Those found since the last call; discarded, in this epoch and, where the ledger knows where
  // else they stand, in all that are open or follow.
  std::vector<PoisonedSample> TakePoisoned();
  // What `before`, of an earlier generation, knew of them.
  void Inherit(const LeaseLedger& before);
  void Doubt(WorkerId worker) { suspects_.Doubt(worker); }
  // Before the first is found.
  void SetOrder(Order order) { options_.order = order; }

  // Whether `worker` holds the lease and it is not accumulated.
  bool IsHeld(WorkerId worker, protocol::LeaseId lease) const;
  std::vector<protocol::LeaseId> Held(WorkerId worker) const;  // Likewise, all of them.
  // Whether `is_it` says so of one of them.
  template <class F>
  bool HoldsAny(WorkerId worker, F is_it) const {
    const auto found = held_.find(worker);
    return found != held_.end() && std::any_of(found->second.begin(), found->second.end(), is_it);
  }
  uint64_t size(protocol::LeaseId lease) const;  // 0 for an unknown one.

  // Positions that are free, and those of epochs that may be opened.
  uint64_t available() const;
  // Grows whenever there may be some to lease that were not there before, or for others than
  // before.
  uint64_t returns() const { return returns_ + suspects_.changes(); }

  // The lease is over. Its positions are free again, or left out for good. Not for accumulated
  // ones: nothing happens.
  void Return(protocol::LeaseId lease);
  void Discard(protocol::LeaseId lease);
  // Said before one of these: a version was made without the step that it was for (overtaken.h).
  void Overtake(protocol::LeaseId lease);
  // Whether the last step of that worker to end was overtaken.
  bool IsLate(WorkerId worker) const { return overtaken_.IsLate(worker); }
  // Its session is over: what it holds and is not accumulated comes back.
  void ReturnAllOf(WorkerId worker);

  // The lease's push is in the open sum, whatever becomes of its worker.
  void Accumulate(protocol::LeaseId lease);

  // The accumulated lease's push is in a published version. `skipped`: of its samples, those that
  // the script did without; which ones nobody knows, and the first epoch of a lease counts first.
  void Commit(protocol::LeaseId lease, uint64_t skipped = 0);
  uint64_t skipped() const;  // Of all epochs.
  // Whether the script did without all samples of the epoch, a complete one.
  bool IsAllSkipped(uint64_t epoch) const;

  // Epochs that became complete since the last call, oldest first. An epoch counts as complete only
  // after all before.
  std::vector<uint64_t> TakeCompleted();

  uint64_t oldest_open() const { return completed_.size(); }
  bool is_complete() const;  // epochs_max epochs are complete, or more.
  // What is leased beyond fewer stays leased; what is free there is not leased any more.
  void SetEpochsMax(uint64_t epochs_max);
  // Oldest first: the last `complete_max` that are complete, and the open ones.
  std::vector<Count> counts(size_t complete_max = SIZE_MAX) const;

  // Internal, naming the epoch and the positions, if a position of an open epoch is in no state or
  // in two, or if it is not known which free ones came back as overtaken. Walks over all intervals:
  // for tests.
  paceline::Status Check() const;
  std::string Describe() const;  // Equal for equal ledgers; the lease ids' counter is left out.

 private:
  struct Epoch {
    IntervalSet free, committed, discarded;
    IntervalSet fresh = {};  // Of `free`, what did not come back as overtaken.
    uint64_t leased = 0, accumulated = 0;
    uint64_t skipped = 0;              // Of the committed.
    std::set<uint64_t> poisoned = {};  // Positions to leave out once they are free.
  };

  bool OpenNext();
  void AddFree(const protocol::SampleRange& range);
  void TakeFree(const protocol::SampleRange& range);
  uint64_t next_epoch() const {
    return open_.empty() ? completed_.size() : open_.rbegin()->first + 1;
  }
  std::optional<protocol::SampleRange> FirstFree(bool is_late) const;
  void TakeUnsuspected(uint64_t samples, bool is_late, protocol::Lease& lease);
  bool TakeSuspect(WorkerId worker, const std::vector<WorkerId>& others, uint64_t samples,
                   Suspects::Whose whose, protocol::Lease& lease);
  bool IsFree(const protocol::SampleRange& range) const;
  bool IsBeyond(uint64_t epoch) const;
  void FindPoisoned();
  void LocatePoisoned(uint64_t epoch);
  void DiscardPoisoned();
  void End(protocol::LeaseId lease, const LeaseTable::Grantee& grantee, IntervalSet Epoch::*to);
  void NotHeld(protocol::LeaseId lease, WorkerId worker);
  void CompleteOldest();

  Options options_;
  std::map<uint64_t, Epoch> open_;
  std::vector<Count> completed_;
  size_t reported_ = 0;
  LeaseTable leases_;
  // Those that are not accumulated, in order of their numbers.
  IdTable<WorkerId, std::vector<protocol::LeaseId>> held_;
  uint64_t next_lease_ = 1;
  uint64_t returns_ = 0;
  Suspects suspects_;                                       // Of free and leased positions.
  Overtaken overtaken_;                                     // Of open epochs.
  std::set<uint64_t> poisoned_;                             // Samples...
  std::set<std::pair<uint64_t, uint64_t>> poisoned_drawn_;  // ...or (epoch, position) of kDrawn.
  std::vector<PoisonedSample> news_;
};

}  // namespace paceline::coordination
