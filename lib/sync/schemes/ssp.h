// Defines Ssp: each push is a commit of its own; a worker may lead the slowest by a bounded number
// of steps (stale synchronous parallel, Ho et al. 2013), or by any (ASP: an unbounded window).
//
// A worker's clock counts its accumulated pushes. The slowest is the least clock of the live
// workers that have data. Who joins, or finds data again, begins at the slowest's clock, if it is
// not ahead.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/non_finite.h"
#include "lib/sync/schemes/policy_spec.h"
#include "lib/sync/schemes/staleness_window.h"

namespace paceline::sync {

class Ssp : public Policy {
 public:
  struct Options {
    StalenessWindow window = StalenessWindow::Unbounded();
    uint32_t global_batch_size = 1;  // Shared out equally over the live workers.
    uint32_t workers_expected = 1;   // Nobody is released before so many joins.
    UpdateScale update_scale = UpdateScale::kPerWorker;
    Version first_version;
  };

  explicit Ssp(const Options& options);

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override { return std::nullopt; }
  std::string Save() const override { return ""; }  // It learns nothing.
  std::unique_ptr<Policy> Clone() const override { return std::make_unique<Ssp>(*this); }

  // The whole state on one line, clocks as leads over the slowest: equal lines, equal futures.
  std::string DebugString() const;

 private:
  enum class Place {
    kComputing,  // Owes a push.
    kParked,     // Waits until the window admits it.
    kOutOfData,  // Waits for samples; counts nowhere.
  };
  struct Member {
    Place place = Place::kParked;
    bool may_find_data = false;  // Samples may have come back since its last release.
    uint64_t clock = 0;
    uint32_t samples_max = UINT32_MAX;  // What fits its memory, as far as known.
    NonFinitePushes non_finite;
  };
  enum class Phase { kOpening, kRunning, kOver };
  using Decisions = std::vector<Decision>;

  void On(const WorkerJoined& event, Decisions& decisions);
  void On(const WorkerLeft& event, Decisions& decisions);
  void On(const PushArrived& push, Decisions& decisions);
  void On(const StepAbandoned& event, Decisions& decisions);
  void On(const OutOfData& event, Decisions& decisions);
  void On(const Quiesce& event, Decisions& decisions);
  void On(const Reconfigured& event, Decisions& decisions);
  template <class Other>
  void On(const Other&, Decisions&) {}

  void OnNonFinite(const PushArrived& push, Member& member, Decisions& decisions);
  void CommitAlone(const PushArrived& push, Decisions& decisions);
  void DropPush(const PushArrived& push, DropReason reason, Decisions& decisions);
  void Remove(WorkerId worker);
  std::optional<uint64_t> SlowestCounted() const;  // Nothing if all are out of data.
  uint64_t Slowest() const { return SlowestCounted().value_or(floor_); }
  void Settle(Decisions& decisions);
  bool Admit(Member& member, std::optional<uint64_t>& slowest);
  // The worker is the `index`th of the live ones.
  void ReleaseOnNewest(WorkerId worker, Member& member, uint32_t index, Decisions& decisions);
  void SamplesCameBack();

  Options options_;
  Phase phase_ = Phase::kOpening;
  uint32_t joins_ = 0;
  Version version_;                   // The newest that was committed here, published or not.
  uint64_t floor_ = 0;                // The slowest's clock when somebody was last active.
  std::optional<Version> finite_on_;  // The newest version that a finite push was based on.
  std::map<WorkerId, Member> members_;
};

}  // namespace paceline::sync
