// Defines FirstK: a barrier on the first k pushes of each step; BSP and static backup workers.
//
// A step applies the mean gradient of the first k = n - backup pushes that were computed on the
// newest version, n being the live workers with data that take part in the step (no backup: BSP,
// Valiant 1990; static backup workers: Chen et al. 2016), or of as many as a Quorum chooses anew
// for each step. k is at least 1 and never more than can still arrive. A slower worker finishes,
// its push is dropped as superseded, and it goes on from the newest version, which it was offered
// meanwhile; or it is told to give its step up.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/batching/batch_sizer.h"
#include "lib/sync/schemes/cloned.h"
#include "lib/sync/schemes/late_worker.h"
#include "lib/sync/schemes/quorum.h"
#include "lib/sync/schemes/saved_pair.h"

namespace paceline::sync {

class FirstK : public Policy {
 public:
  struct Options {
    uint32_t backup_workers = 0;     // Pushes that a step does not wait for.
    uint32_t global_batch_size = 1;  // Shared out over the workers of a step.
    uint32_t workers_expected = 1;   // The first step waits for so many joins.
    bool is_deterministic =
        false;  // Accumulate in worker order when the step closes, not on arrival.
    LateWorker late_worker = LateWorker::kOffer;
    Version first_version;
  };

  // Shares the batch out equally, or as `sizer` says.
  explicit FirstK(const Options& options);
  FirstK(const Options& options, std::unique_ptr<BatchSizer> sizer);
  // Waits for as many as `quorum` says, and no backup_workers.
  FirstK(const Options& options, std::unique_ptr<Quorum> quorum, std::unique_ptr<BatchSizer> sizer);

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override;
  bool WantsSpare() const override { return quorum_->WantsSpare() || sizer_->WantsSpare(); }
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override { return JoinSaved(quorum_->Save(), sizer_->Save()); }
  std::unique_ptr<Policy> Clone() const override { return std::make_unique<FirstK>(*this); }

  // The whole state on one line: equal lines, equal futures.
  std::string DebugString() const;

 private:
  enum class Place {
    kComputing,    // Owes a push.
    kContributed,  // Its push is in round_.
    kRoundOver,    // Its push was not finite; waits for the next step.
    kJoined,       // Waits for the next step.
    kOutOfData,    // Waits for samples; counts nowhere.
  };
  struct Member {
    Place place = Place::kJoined;
    bool may_find_data = false;         // Samples may have come back since its last release.
    bool is_silent = false;             // Computes for so long that no step waits for it.
    uint32_t share = 1;                 // Samples of its part of the step.
    uint32_t samples_max = UINT32_MAX;  // What fits its memory, as far as known.
    uint32_t non_finite_in_a_row = 0;
  };
  struct Contribution {
    WorkerId worker;
    Sequence sequence;
    uint32_t samples = 0;
    bool is_accumulated = false;
  };
  enum class Phase { kOpening, kRunning, kOver };
  using Decisions = std::vector<Decision>;

  void On(const WorkerJoined& event, Decisions& decisions);
  void On(const WorkerLeft& event, Decisions& decisions);
  void On(const PushArrived& push, Decisions& decisions);
  void On(const StepAbandoned& event, Decisions& decisions);
  void On(const StepCommitted& event, Decisions& decisions);
  void On(const OutOfData& event, Decisions& decisions);
  void On(const Quiesce& event, Decisions& decisions);
  void On(const DeadlineReached& event, Decisions& decisions);
  void On(const Spare& event, Decisions& decisions);
  void On(const Reconfigured& event, Decisions& decisions);
  template <class Other>
  void On(const Other&, Decisions&) {}

  void OnNonFinite(const PushArrived& push, Member& member, Decisions& decisions);
  void Contribute(const PushArrived& push, Member& member, Decisions& decisions);
  void Remove(WorkerId worker, Decisions& decisions);
  void DropStaged(Decisions& decisions);
  void DropPush(const PushArrived& push, DropReason reason, Decisions& decisions);
  void Settle(Decisions& decisions);
  size_t PushesNeeded() const;
  uint32_t Count(Place place) const;
  void CommitRound(Decisions& decisions);
  void ShareOut();
  void BeginRound(Decisions& decisions);
  void TellBegan();
  void SendNews(WorkerId busy, Decisions& decisions);
  void ReleaseOnNewest(WorkerId worker, Member& member, Decisions& decisions);
  void SamplesCameBack();

  Options options_;
  Cloned<Quorum> quorum_;
  Cloned<BatchSizer> sizer_;
  Time now_{};
  Phase phase_ = Phase::kOpening;
  uint32_t joins_ = 0;
  Version version_;    // The newest that was committed here, published or not...
  Version published_;  // ...and the newest that was published.
  std::map<WorkerId, Member> members_;
  std::vector<Contribution> round_;  // In order of arrival; holds those of workers that left since.
};

}  // namespace paceline::sync
