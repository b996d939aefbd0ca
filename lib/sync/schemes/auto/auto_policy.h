// Defines AutoPolicy: the scheme that chooses among others while training runs
// (docs/schemes/auto.md).
//
// It is the engine, with a controller beside it that moves its spec without anybody stopping:
// - with a barrier, B(k): a version of the first k of n pushes, late workers interrupted (or
//   offered the version, where the spec says so), k from a quarter of the workers to all, no
//   longer a step than all would make, in the mean (noise_scale.h) and each time (step_limit.h);
// - without one, A: a version of each quarter of n pushes, whatever they were computed on, weighed
//   by their part of the global batch; where the spec allows it.
// It begins as BSP. For each choice it estimates progress per second from what a step is worth
// (noise_scale.h) and how long it takes (shadow.h); what is in force has to be beaten by a margin,
// and what its rounds really took corrects the estimate.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/auto/fleet_times.h"
#include "lib/sync/schemes/auto/foresight.h"
#include "lib/sync/schemes/auto/judgement.h"
#include "lib/sync/schemes/auto/loss_guard.h"
#include "lib/sync/schemes/auto/step_limit.h"
#include "lib/sync/schemes/engine/engine.h"
#include "lib/sync/schemes/estimates/forgetting_mean.h"
#include "lib/sync/schemes/estimates/noise_scale.h"

namespace paceline::sync {

class AutoPolicy : public Policy {
 public:
  // `spec` is valid and of scheme Auto. `saved` is what Save gave, or empty: DataLoss if it is not.
  static StatusOr<std::unique_ptr<AutoPolicy>> Make(const PolicySpec& spec,
                                                    const std::string& saved);

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override;
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override;
  std::unique_ptr<Policy> Clone() const override { return std::make_unique<AutoPolicy>(*this); }

 private:
  explicit AutoPolicy(const PolicySpec& spec);

  // What an event says...
  void Learn(const Event& event, Time now);
  void LearnPush(const PushArrived& push, Time now);
  // ...and what the engine decided on it.
  // Makes steps of few pushes no longer than those of all.
  void Note(const Event& event, std::vector<Decision>& decisions, size_t first, Time now);
  void NoteCounted(const PushArrived& push, Time now);
  void NoteCommit(Commit& commit, Time now);
  void EndSweep(Time now);

  bool IsDue(Time now) const;
  void Decide(Time now, std::vector<Decision>& decisions);
  struct Wish {
    AutoChoice choice;
    ChoiceReason reason = ChoiceReason::kFaster;
  };
  Wish Choose(Time now, bool is_overdue);
  void Adopt(const Wish& wish, Time now, std::vector<Decision>& decisions);
  void NoteSeconds(double seconds);
  void TellMeasured(std::vector<Decision>& decisions);
  double MeasuredProgress() const;
  uint32_t PushesOf(const AutoChoice& choice) const;
  void Restart(Time now);
  void SetOverdue(Time now);

  bool is_async() const { return choice_.way == Way::kAsync; }
  double BarrierCost() const { return barrier_cost_.Or(0); }
  double AsyncCost() const;

  PolicySpec spec_;
  Engine engine_;
  FleetTimes fleet_;
  NoiseScale noise_;
  LossGuard guard_;
  Foresight foresight_;
  StepLimit limit_;
  AutoChoice choice_;                   // In force...
  std::optional<Estimates> estimates_;  // ...and those that it was chosen by last.

  ForgettingMean barrier_cost_;  // Seconds of a step beside computing, with a barrier...
  ForgettingMean async_cost_;    // ...and without.
  double trust_ = 1;
  uint32_t bans_ = 0;
  uint64_t banned_until_ = 0;  // Sweep.

  // A round ends with a commit, a sweep with a global batch of samples. Those that began before
  // somebody came or went or the choice changed say nothing of how long they take.
  Time round_began_{};
  Time sweep_began_{};
  bool is_round_whole_ = false;
  bool is_sweep_whole_ = false;
  double round_samples_ = 0;
  double round_norms_ = 0;  // Sum of samples x squared norm of a push.
  double sweep_samples_ = 0;
  double sweep_losses_ = 0;  // Sum of samples x loss.
  uint64_t sweeps_ = 0;
  uint64_t sweeps_in_mode_ = 0;

  uint32_t warm_commits_ = 0;
  uint32_t since_decision_ = 0;  // Commits with a barrier, sweeps without.
  bool is_due_ = false;          // Somebody came, went or became another one.
  std::optional<Time> overdue_;  // When the open round is looked at again.
  bool is_over_ = false;         // Quiesced, or rolled back.

  // What the choice in force brings: seconds of its rounds or sweeps so far.
  double choice_seconds_ = 0;
  uint32_t choice_rounds_ = 0;
  double progress_before_ = 0;  // Of the choice before; 0: it is not known, or told.
  double gain_expected_ = 1;
  double gain_measured_ = 0;           // 0: not known yet.
  std::array<uint64_t, 4> choices_{};  // By reason.
};

}  // namespace paceline::sync
