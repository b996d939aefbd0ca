// Defines Dbw: the quorum of dynamic backup workers, and of its blind arm.
//
// k is chosen when a step begins, to maximise G(k) / T(h, k): the expected decrease of the loss
// (gain.h) per second until the k-th push (duration_table.h), h being the k before. If no k
// promises a gain, all workers, or as before; if the loss rose, at least one more than before
// (C. Xu, G. Neglia, N. Sebastianelli, Dynamic backup workers for parallel machine learning, 2020).
// Blind (B-DBW): k / T(h, k), gradients per second, whatever they are worth.
// NoiseScale: G by how much gradients scatter alone (noise_scale.h), without losses or smoothness.
//
// T is fed by the pushes of each step, and by those that came too late for one (late_arrivals.h).
//
// The first steps wait for all, and so does the one after a join: it shows the whole row of times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/schemes/dbw/duration_table.h"
#include "lib/sync/schemes/dbw/fleet.h"
#include "lib/sync/schemes/dbw/gain.h"
#include "lib/sync/schemes/dbw/late_arrivals.h"
#include "lib/sync/schemes/dbw/options.h"
#include "lib/sync/schemes/dbw/silence_watch.h"
#include "lib/sync/schemes/estimates/noise_scale.h"
#include "lib/sync/schemes/quorum.h"

namespace paceline::sync {

class Dbw : public Quorum {
 public:
  // Of any method but kAdaSync and kStar.
  explicit Dbw(const DbwOptions& options);

  // `saved` is what Save gave, or empty. DataLoss if it is not.
  static StatusOr<std::unique_ptr<Dbw>> Make(const DbwOptions& options, std::string_view saved);

  void Observe(const StepFact& fact, Time now) override;
  uint32_t PushesWanted(uint32_t taking_part) const override;
  double LearningRateScale(uint32_t pushes) const override;
  std::optional<Time> Deadline() const override { return silence_.deadline(); }
  bool WantsSpare() const override { return table_.WantsFit(); }
  void Tell(std::vector<Figure>& figures) const override;
  std::string Save() const override;
  std::string DebugString() const override;
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<Dbw>(*this); }

 private:
  // Why k is not what was worth most.
  enum class Reason { kNone, kWarmUp, kNoGain, kLossRose };
  struct Choice {
    uint32_t k = 1;
    Reason reason = Reason::kNone;
  };

  void On(const StepBegan& began, Time now);
  void On(const PushCounted& push, Time now);
  void On(const PushLate& push, Time now);
  void On(const StepClosed& closed, Time now);
  void On(const StepCommitted& committed, Time now);
  void On(const SizesChanged&, Time now);
  void On(const WorkerForgotten& gone, Time now);
  void On(const SilentGivenUp&, Time now);
  void On(const Spare& spare, Time now);

  void AddLate(WorkerId worker, Version based_on, Time now);
  bool IsBlind() const { return options_.method == DbwMethod::kBlind; }
  bool WeighsNoise() const { return options_.method == DbwMethod::kNoiseScale; }
  bool KnowsGain() const;
  bool KnowsEnough() const;
  Choice Choose() const;
  Choice MostWorth() const;
  double GainOf(uint32_t k) const;
  double WorthOf(uint32_t k) const;  // Per second.
  void TellOfEach(std::vector<Figure>& figures) const;
  Status Restore(std::string_view line);

  DbwOptions options_;
  DurationTable table_;
  GainEstimator gain_;
  NoiseScale noise_;  // kNoiseScale.
  Fleet fleet_;
  SilenceWatch silence_;
  LateArrivals late_;
  uint32_t warm_steps_ = 0;    // Steps that waited for all, at first.
  double schedule_rate_ = 0;   // The learning rate of the last step, its factor for k taken out.
  double factor_ = 1;          // That factor, of the step that was closed last.
  std::optional<uint32_t> h_;  // Pushes of the step before.
  uint32_t members_ = 0;       // Of the running step.
  uint32_t workers_ = 0;       // Of those, whom to count on.
  bool must_see_all_ = false;  // Somebody joined.
  Choice choice_;
  Version version_;  // Of the running step, or of the one that was closed last.
  Time began_{};
  std::vector<double> arrivals_;         // Seconds of the running step's pushes, in order...
  std::vector<double> arrivals_before_;  // ...and of the last one's.
  std::array<uint64_t, 4> reasons_{};    // Steps closed, by reason.
};

}  // namespace paceline::sync
