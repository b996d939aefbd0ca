// Defines Wbsp: worker-busy synchronous parallel (Yang et al., Parallel Computing 121, 2024). Fast
// workers make local steps and push what they change while the slowest finishes its step; the model
// moves on, for all at once, when the slowest has pushed.
//
// A round is the time in which one version is the newest. Each push of the round is added with
// weight 1/n, n the members at the round's start, to a sum apart from the version; the round ends
// when every counted member has pushed, or the designated one has, or time is over. A push made for
// the round before counts for the running one (it is late), or is dropped; an older one is dropped.
//
// Who joins works on the running version at once, and is waited for from the next round on. Who
// lets a round run out of time is missing: it is waited for again once it has pushed.
//
// Normalised, a push weighs m/t of that: t its worker's mean steps in a round, m the mean of those.
// So the sum is (mean tau) x mean(delta_i / tau_i) where paces last (FedNova, Wang et al., 2020),
// and as large as without. The weights are those of the rounds before: what is added cannot be
// weighed again when the round ends.
//
// A worker holds as many leases as it may make steps before an answer: one; or two and more, by
// what its pushes take, where they travel while it computes. Beyond local_steps_max in a round it
// gets none until the next.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/non_finite.h"
#include "lib/sync/schemes/wbsp/wbsp_knobs.h"

namespace paceline::sync {

class Wbsp : public Policy {
 public:
  struct Options {
    WbspKnobs knobs;
    uint32_t global_batch_size = 1;  // Shared out equally over the live workers.
    uint32_t workers_expected = 1;   // Nobody is released before so many joins.
    Version first_version;
    std::optional<double> round_seconds;  // Learnt before: the mean round.
  };

  explicit Wbsp(const Options& options);

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override;
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override;  // The mean round.
  std::unique_ptr<Policy> Clone() const override { return std::make_unique<Wbsp>(*this); }

  // The whole state on one line, but for times: equal lines, equal futures of equal pace.
  std::string DebugString() const;

  // What Save gave: the mean round in seconds. DataLoss if it is nothing of the kind.
  static StatusOr<std::optional<double>> ReadSaved(const std::string& saved);

 private:
  // For people; decisions do not depend on it, but for the election.
  struct Seen {
    double step_seconds = 0;  // Mean over its steps, newer ones counting more; 0: none yet.
    Timing total;
    uint64_t pushes = 0;
    uint64_t pulls = 0;
    uint64_t timeouts = 0;
    uint32_t steps_last_round = 0;
    double delta_norm = 0;
  };
  struct Member {
    bool is_counted = false;    // Was there when the round began, and not missing.
    bool is_missing = false;    // Let a round run out of time, and has not pushed since.
    uint32_t leases = 2;        // That it may hold, where it computes while pushes travel.
    uint32_t owed = 0;          // Steps that it was sent on to, and has not pushed.
    uint32_t pushes = 0;        // In this round's sum.
    uint32_t steps = 0;         // In those pushes.
    double mean_steps = 0;      // In a round, newer ones counting more; 0: none yet.
    std::optional<Version> on;  // The version it was sent to last; absent: it must be released.
    bool is_out_of_data = false;
    bool may_find_data = false;         // Samples may have come back since it was sent on last.
    uint32_t samples_max = UINT32_MAX;  // What fits its memory, as far as known.
    NonFinitePushes non_finite;
    Seen seen;
  };
  enum class Phase { kOpening, kRunning, kOver };
  using Decisions = std::vector<Decision>;

  void On(const WorkerJoined& event, Decisions& decisions);
  void On(const WorkerLeft& event, Decisions& decisions);
  void On(const PushArrived& push, Decisions& decisions);
  void On(const StepAbandoned& event, Decisions& decisions);
  void On(const StepCommitted& event, Decisions& decisions);
  void On(const DeadlineReached& event, Decisions& decisions);
  void On(const OutOfData& event, Decisions& decisions);
  void On(const Quiesce& event, Decisions& decisions);
  void On(const Spare&, Decisions&) {}
  void On(const Reconfigured&, Decisions&) {}  // Its knobs need another policy (MayReconfigure).

  void Measure(const PushArrived& push, Member& member);
  void OnNonFinite(const PushArrived& push, Member& member, Decisions& decisions);
  void Contribute(const PushArrived& push, Member& member, Decisions& decisions);
  void DropPush(const PushArrived& push, DropReason reason, Decisions& decisions);
  void Remove(WorkerId worker);

  double WeightOf(const Member& member) const;
  static bool HasData(const Member& member);
  bool IsWaitedFor(WorkerId worker, const Member& member) const;
  bool IsRoundOver() const;
  void EndRound(Decisions& decisions);
  void BeginRound();
  void ElectIfDue();
  void Elect();
  void Settle(Decisions& decisions);
  void SendOn(WorkerId worker, Member& member, Decisions& decisions);
  bool MayStep(const Member& member) const;
  Assignment AssignmentOf(WorkerId worker, const Member& member) const;
  void SamplesCameBack();

  Options options_;
  Phase phase_ = Phase::kOpening;
  uint32_t joins_ = 0;
  Version version_;                   // The newest that was committed here...
  Version published_;                 // ...and that is published.
  std::optional<Version> finite_on_;  // The newest version that a finite push was based on.
  std::map<WorkerId, Member> members_;
  uint32_t round_members_ = 1;  // n of the round's weights...
  double mean_steps_ = 0;       // ...and the mean of its members' mean steps; 0: none yet.
  uint32_t round_pushes_ = 0;   // In the sum.
  std::optional<WorkerId> designated_;
  uint64_t rounds_since_election_ = 0;

  Time now_{};
  Time round_began_{};
  std::optional<double> round_seconds_;  // Mean, newer ones counting more.
  double last_round_seconds_ = 0;
  uint64_t rounds_ = 0;
  uint64_t late_pushes_ = 0;
  std::optional<WorkerId> last_pusher_;
  std::optional<WorkerId> trigger_worker_;  // Whose push ended the last round.
};

}  // namespace paceline::sync
