// Defines PushLedger: what became of each push, by its identity (worker, incarnation, sequence).
//
// A push arrives once, lies staged until the policy answers it, and is then in the open sum or
// gone; the open sum closes into a version, which is taken out when the shards have published it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/id_table.h"
#include "lib/base/ids.h"
#include "lib/base/push_kind.h"
#include "lib/base/version.h"
#include "lib/coordination/ledgers/lease_ledger.h"
#include "lib/protocol/worker_messages.h"
#include "lib/store/shard.h"

namespace paceline::coordination {

struct Push {
  store::PushId id;
  Version based_on;
  uint32_t samples = 0;
  uint64_t correct = 0;
  double loss = 0;
  std::vector<protocol::LeaseId> leases;
  double asked_weight = 0;  // Once accumulated, as the policy wants it...
  double weight = 0;        // ...and as it is: a gradient counts by the samples that it is of.
  std::string non_finite_tensor;                // As in its PushDone.
  std::vector<uint32_t> without_gradient = {};  // Likewise.
  uint32_t skipped = 0;                         // Likewise.

  uint32_t counted() const { return samples - skipped; }
};

// What a mean over the pushes, each with its weight, is to be multiplied by where some have skipped
// samples: the policy has divided by those too. 1 where nothing is skipped, or everything.
double ScaleForSkipped(const std::vector<Push>& pushes);

// Its leases, in order, and how many samples of each are counted as skipped: those of the first
// ones.
std::vector<std::pair<protocol::LeaseId, uint64_t>> SkippedOf(const LeaseLedger& leases,
                                                              const Push& push);

// What none of the pushes had a gradient of, ascending.
std::vector<uint32_t> WithoutGradient(const std::vector<Push>& pushes);

// A value.
class PushLedger {
 public:
  enum class Arrival {
    kNew,
    kDuplicate,   // Of the newest push of this life: the first answer stands.
    kFenced,      // Of another life than the worker's present one.
    kOutOfOrder,  // Neither the newest sequence nor the next.
  };

  // A life of the worker begins; its sequences count from 1. What its earlier lives left staged is
  // forgotten.
  void Begin(WorkerId worker, Incarnation incarnation);

  Arrival Judge(const store::PushId& id) const;
  void Arrive(Push push);  // Judged kNew.

  // The step that would have been that push gave up. The next push may carry its sequence or the
  // one after. False if that sequence is not one that may come next.
  bool Abandon(const store::PushId& id);

  // Its life is over: refuses what may still come of it. Returns what lay staged.
  std::vector<Push> Fence(WorkerId worker);

  // Null if that worker's present life has no such push staged. The pointer is good until the next
  // call.
  const Push* Accumulate(WorkerId worker, Sequence sequence, double weight,
                         PushKind kind = PushKind::kGradient);
  std::optional<Push> Drop(WorkerId worker, Sequence sequence);

  // The open sum becomes that version; returns it in order of accumulation.
  const std::vector<Push>& Close(Version version);
  // The version is published; returns its pushes and forgets them.
  std::vector<Push> Publish(Version version);

  const std::vector<Push>& open_sum() const { return open_sum_; }
  // Of versions that are asked for and not published.
  const std::map<Version, std::vector<Push>>& closed() const { return closed_; }
  std::vector<Push> staged() const;
  bool is_idle() const { return staged_ == 0 && open_sum_.empty() && closed_.empty(); }
  std::optional<Sequence> Newest(WorkerId worker) const;  // That arrived of its present life.
  // What the step in work will be, or the next one: neither arrived nor abandoned. Nothing without
  // a present life.
  std::optional<Sequence> Running(WorkerId worker) const;
  bool Uses(WorkerId worker, protocol::LeaseId lease) const;  // A staged push of that worker does.
  void ForgetUnpublished();  // Staged pushes and the open sum will never be used.
  std::string Describe() const;

 private:
  struct Life {
    Incarnation incarnation;
    bool is_fenced = false;
    Sequence arrived;               // Newest that arrived; 0: none.
    Sequence spent;                 // Newest that arrived or was abandoned.
    std::vector<Push> staged = {};  // In order of their sequences.
  };
  std::optional<Push> TakeStaged(WorkerId worker, Sequence sequence);

  IdTable<WorkerId, Life> lives_;
  size_t staged_ = 0;  // Of present lives.
  std::vector<Push> open_sum_;
  std::map<Version, std::vector<Push>> closed_;
};

}  // namespace paceline::coordination
