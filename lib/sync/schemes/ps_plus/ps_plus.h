// Defines PsPlus: each push is a commit of its own, and its answer, the pull of the next version,
// travels while the worker computes on (eager pull, Jin et al. 2022).
//
// Workers push deltas, and hold a spare lease for each answer that may be outstanding: `depth` of
// them. The answer to a push is a release that includes it; with it comes the lease of the step
// after those that the worker has leases for. A worker that is more than `window` clocks ahead gets
// its answer later: it computes the steps that it has leases for, and waits before their push.
//
// A worker's clock counts its accumulated pushes. The slowest is the least clock of the live
// workers that have data; who joins, or finds data again, begins there, if it is not ahead.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/modulation/modulation.h"
#include "lib/sync/schemes/modulation/pace.h"
#include "lib/sync/schemes/non_finite.h"
#include "lib/sync/schemes/policy_spec.h"
#include "lib/sync/schemes/staleness_window.h"

namespace paceline::sync {

class PsPlus : public Policy {
 public:
  struct Options {
    StalenessWindow window = StalenessWindow::Unbounded();
    uint32_t depth = 1;  // Answers that a worker may be waiting for while it computes, at least 1.
    ModulationOptions modulation;
    uint32_t global_batch_size = 1;  // Shared out equally over the live workers.
    uint32_t workers_expected = 1;   // Nobody is released before so many joins.
    UpdateScale update_scale = UpdateScale::kPerWorker;
    Version first_version;
  };

  explicit PsPlus(const Options& options);

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override { return std::nullopt; }
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override { return ""; }  // It learns nothing that outlives its members.
  std::unique_ptr<Policy> Clone() const override { return std::make_unique<PsPlus>(*this); }

  // What decides about leases and releases on one line, clocks as leads over the slowest: equal
  // lines, equal futures, but for learning-rate scales.
  std::string DebugString() const;

 private:
  struct Member {
    uint64_t clock = 0;
    uint32_t owed = 0;             // Pushes that it has a lease for, or that one is on its way for.
    bool is_unanswered = false;    // Pushed since its last release.
    bool is_starved = false;       // A lease that it should have found no samples.
    std::optional<Sequence> last;  // Its newest push.
    std::optional<Version> released;    // What it was last released on...
    uint64_t own_since_release = 0;     // ...and its own commits since.
    double scale = 1;                   // Of its next push.
    uint64_t looked = 0;                // samples_back_ when it was last given leases.
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
  template <class Other>
  void On(const Other&, Decisions&) {}

  void OnNonFinite(const PushArrived& push, Member& member, Decisions& decisions);
  void CommitAlone(const PushArrived& push, Member& member, Decisions& decisions);
  void DropPush(const PushArrived& push, DropReason reason, Decisions& decisions);
  void Remove(WorkerId worker);

  static bool Counts(const Member& member) { return member.owed > 0 || !member.is_starved; }
  uint64_t Slowest() const;
  uint32_t LeasesMax() const { return options_.depth + 1; }
  bool Wants(const Member& member) const;
  void Settle(Decisions& decisions);
  void SendOn(WorkerId worker, Member& member, uint32_t index, Decisions& decisions);
  double ScaleOfNextPush(WorkerId worker, const Member& member) const;
  // Samples may have come back since it was last given leases.
  bool MayFindData(const Member& member) const { return member.looked < samples_back_; }
  void SamplesCameBack() { ++samples_back_; }

  Options options_;
  Phase phase_ = Phase::kOpening;
  uint32_t joins_ = 0;
  Version version_;                   // The newest that was committed here, published or not.
  uint64_t floor_ = 0;                // The slowest's clock when somebody was last active.
  uint64_t samples_back_ = 1;         // How often samples may have come back.
  std::optional<Version> finite_on_;  // The newest version that a finite push was based on.
  std::map<WorkerId, Member> members_;
  Pace pace_;
};

}  // namespace paceline::sync
