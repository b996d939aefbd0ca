#include "lib/sync/schemes/auto/auto_policy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/sync/contract/words.h"
#include "lib/sync/schemes/batching/equal.h"
#include "lib/sync/schemes/saved_pair.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

constexpr uint32_t kWarmUp = 3;        // Commits of all workers at first.
constexpr uint32_t kCommitsApart = 3;  // Decisions with a barrier.
constexpr uint64_t kSweepsMin = 4;     // Without one, before speed alone brings it back.
constexpr double kNoiseNewest = 0.02;  // Of a step with a barrier.
constexpr double kCostNewest = 0.05;   // Of a push, in what it costs beside computing.
constexpr double kDistrust = 0.8;      // What a tripped guard leaves of the trust.
constexpr uint64_t kBanSweeps = 30;    // Doubled each time...
constexpr uint32_t kBansMax = 10;      // ...so often at most.
constexpr uint32_t kRoundsTold = 9;    // After which it is told what a choice brought...
constexpr uint32_t kSweepsTold = 5;    // ...or sweeps.
constexpr double kOverdue = 2;         // Times what a round should take, or...
constexpr double kOverdueMin = 1;      // ...so many seconds, if that is more.

// Half of what it costs where the rate is the largest that all workers bear: nobody says how far
// from that it is, and a step of few is limited besides.
constexpr NoiseScale::Price kPrice{.of_all = 0.5};

using Rule = QuorumChoice::Rule;

LateWorker LateWorkerOf(const PolicySpec& spec) {
  return spec.parts.late_worker.value_or(LateWorker::kInterrupt);
}

// What the engine is then.
PolicySpec SpecOf(PolicySpec spec, const AutoChoice& choice) {
  const LateWorker late_worker = LateWorkerOf(spec);
  spec.parts = {};
  if (choice.way == Way::kAsync) {
    spec.scheme = Scheme::kKBatchAsync;
    spec.parts.quorum = QuorumChoice{Rule::kCount, choice.k};
    return spec;
  }
  spec.scheme = Scheme::kBsp;
  spec.parts.late_worker = late_worker;
  if (choice.k > 0) spec.parts.quorum = QuorumChoice{Rule::kCount, choice.k};
  return spec;
}

}  // namespace

AutoPolicy::AutoPolicy(const PolicySpec& spec)
    : spec_(spec),
      engine_(SpecOf(spec, {}), std::make_unique<FixedBackup>(0),
              std::make_unique<EqualSizer>(spec.global_batch_size)),
      noise_(spec.global_batch_size, kPrice) {}

StatusOr<std::unique_ptr<AutoPolicy>> AutoPolicy::Make(const PolicySpec& spec,
                                                       const std::string& saved) {
  std::unique_ptr<AutoPolicy> policy(new AutoPolicy(spec));
  if (saved.empty()) return policy;
  Fields fields(saved);
  if (fields.Next<std::string>("scheme") != "auto")
    return DataLoss("saved policy state is of another scheme than Auto: {}", saved);
  const auto noise = fields.Require<std::string>("noise");
  policy->trust_ = fields.Require<double>("trust");
  policy->bans_ = fields.Require<uint32_t>("bans");
  policy->banned_until_ = fields.Require<uint64_t>("banned");
  if (const Status read = fields.Finish(); !read.ok())
    return DataLoss("saved policy state of Auto: {}", Message(read));
  PACELINE_RETURN_IF_ERROR(policy->noise_.Restore(noise));
  return policy;
}

std::string AutoPolicy::Save() const {
  const std::string learnt = FieldWriter("auto")
                                 .Add("noise", noise_.Save())
                                 .Add("trust", trust_)
                                 .Add("bans", bans_)
                                 .Add("banned", banned_until_ - std::min(banned_until_, sweeps_))
                                 .Take();
  return JoinSaved(learnt, "");
}

void AutoPolicy::Observe(const Event& event, Time now, std::vector<Decision>& decisions) {
  const size_t first = decisions.size();
  if (const auto* const reconfigured = std::get_if<Reconfigured>(&event)) {
    spec_ = reconfigured->spec;
    engine_.Observe(Reconfigured{SpecOf(spec_, choice_)}, now, decisions);
  } else {
    engine_.Observe(event, now, decisions);
  }
  Learn(event, now);
  Note(event, decisions, first, now);
  if (IsDue(now)) Decide(now, decisions);
}

std::optional<Time> AutoPolicy::Deadline() const { return overdue_; }

void AutoPolicy::Learn(const Event& event, Time now) {
  if (const auto* const joined = std::get_if<WorkerJoined>(&event)) {
    fleet_.Joined(joined->worker);
    Restart(now);
  } else if (const auto* const left = std::get_if<WorkerLeft>(&event)) {
    fleet_.Left(left->worker);
    Restart(now);
  } else if (const auto* const push = std::get_if<PushArrived>(&event)) {
    LearnPush(*push, now);
  } else if (const auto* const abandoned = std::get_if<StepAbandoned>(&event)) {
    if (abandoned->reason == AbandonReason::kInterrupted) {
      is_due_ |= fleet_.Aborted(abandoned->worker, BarrierCost(), now);
    } else {
      fleet_.Stopped(abandoned->worker);
    }
  } else if (const auto* const out = std::get_if<OutOfData>(&event)) {
    fleet_.Stopped(out->worker);
  } else if (const auto* const committed = std::get_if<StepCommitted>(&event)) {
    noise_.Applied(committed->squared_norm);
  } else if (std::holds_alternative<Quiesce>(event)) {
    is_over_ = true;
    overdue_.reset();
  }
}

void AutoPolicy::LearnPush(const PushArrived& push, Time now) {
  if (push.gradient.is_empty) return fleet_.Stopped(push.worker);
  const FleetTimes::Step step = fleet_.Ended(push.worker, push.samples, push.timing.compute, now);
  is_due_ |= step.has_changed;
  if (step.cost) (is_async() ? async_cost_ : barrier_cost_).Add(*step.cost, kCostNewest);
}

// Before it was tried: with a barrier all transfers are under way at once, and hinder each other.
double AutoPolicy::AsyncCost() const { return async_cost_.Or(BarrierCost() / fleet_.size()); }

void AutoPolicy::Note(const Event& event, std::vector<Decision>& decisions, size_t first,
                      Time now) {
  const auto* const push = std::get_if<PushArrived>(&event);
  for (size_t i = first; i < decisions.size(); ++i) {
    Decision& decision = decisions[i];
    if (std::holds_alternative<Accumulate>(decision)) {
      if (push != nullptr) NoteCounted(*push, now);
    } else if (auto* const commit = std::get_if<Commit>(&decision)) {
      NoteCommit(*commit, now);
    } else if (const auto* const release = std::get_if<Release>(&decision)) {
      fleet_.Began(release->worker, release->assignment.samples, now);
    } else if (const auto* const expel = std::get_if<Expel>(&decision)) {
      fleet_.Left(expel->worker);
      Restart(now);
    } else if (std::holds_alternative<RollBack>(decision)) {
      is_over_ = true;
      overdue_.reset();
    }
  }
}

void AutoPolicy::NoteCounted(const PushArrived& push, Time now) {
  if (push.gradient.is_empty) return;
  noise_.AddPush(push.samples, push.gradient.squared_norm);
  sweep_samples_ += push.samples;
  sweep_losses_ += push.samples * push.gradient.loss;
  round_samples_ += push.samples;
  round_norms_ += push.samples * push.gradient.squared_norm;
  if (sweep_samples_ >= spec_.global_batch_size) EndSweep(now);
}

void AutoPolicy::NoteCommit(Commit& commit, Time now) {
  const double share = std::min(1.0, round_samples_ / spec_.global_batch_size);
  if (round_samples_ > 0) {
    const double norm = round_norms_ / round_samples_;
    if (!is_async() && choice_.k > 0)
      commit.learning_rate_scale *= noise_.LengthScale(share) * limit_.Scale(share, norm);
    limit_.Add(norm);
  }
  // What lies between the versions that pushes without a barrier are based on is no noise.
  noise_.Close(is_async() ? 0 : kNoiseNewest);
  round_samples_ = round_norms_ = 0;
  if (!is_async()) {
    const double seconds = ToSeconds(now - round_began_);
    if (is_round_whole_) {
      NoteSeconds(seconds);
      if (choice_.k > 0 && estimates_) foresight_.Add(seconds, estimates_->SecondsOf(choice_.k));
    }
    ++warm_commits_;
    ++since_decision_;
  }
  round_began_ = now;
  is_round_whole_ = true;
  SetOverdue(now);
}

void AutoPolicy::EndSweep(Time now) {
  guard_.EndSweep(sweep_losses_ / sweep_samples_);
  ++sweeps_;
  ++sweeps_in_mode_;
  if (is_async()) {
    foresight_.Fade();
    const double seconds = ToSeconds(now - sweep_began_);
    if (is_sweep_whole_) NoteSeconds(seconds);
    ++since_decision_;
  }
  sweep_samples_ = sweep_losses_ = 0;
  sweep_began_ = now;
  is_sweep_whole_ = true;
}

void AutoPolicy::Restart(Time now) {
  is_due_ = true;
  is_round_whole_ = is_sweep_whole_ = false;
  sweep_samples_ = sweep_losses_ = 0;
  sweep_began_ = now;
}

// While nothing is known, whoever hangs is coordination's to find, as with every barrier of all.
void AutoPolicy::SetOverdue(Time now) {
  overdue_.reset();
  if (is_async() || is_over_ || !estimates_) return;
  overdue_ = now + Seconds(std::max(kOverdue * estimates_->SecondsOf(choice_.k), kOverdueMin));
}

bool AutoPolicy::IsDue(Time now) const {
  if (is_over_ || warm_commits_ < kWarmUp || fleet_.size() == 0) return false;
  return is_due_ || since_decision_ >= (is_async() ? 1 : kCommitsApart) ||
         (overdue_ && now >= *overdue_);
}

void AutoPolicy::Decide(Time now, std::vector<Decision>& decisions) {
  const bool is_overdue = overdue_ && now >= *overdue_;
  const Wish wish = Choose(now, is_overdue);
  is_due_ = false;
  since_decision_ = 0;
  TellMeasured(decisions);
  if (wish.choice != choice_) Adopt(wish, now, decisions);
  // Looked at again once it has taken twice as long.
  if (is_overdue && overdue_ && now >= *overdue_) overdue_ = now + (now - round_began_);
  if (!overdue_ && now == round_began_) SetOverdue(now);
}

AutoPolicy::Wish AutoPolicy::Choose(Time now, bool is_overdue) {
  const bool is_tripped = is_async() && guard_.IsTripped();
  if (is_tripped) {
    trust_ *= kDistrust;
    banned_until_ = sweeps_ + (kBanSweeps << std::min(bans_++, kBansMax));
  }
  // Who has just come shows its times first.
  if (fleet_.IsAnyUnknown() && !is_overdue) {
    if (is_tripped) return {AutoChoice{}, ChoiceReason::kLossRose};
    return {is_async() ? choice_ : AutoChoice{}, ChoiceReason::kMembers};
  }
  // In the middle of a round that is late, a barrier looks worse than it is.
  const bool may_leave =
      !spec_.is_barrier_kept && !is_overdue && fleet_.size() > 1 && sweeps_ >= banned_until_;
  const AsyncTerms async{.communication = AsyncCost(), .trust = may_leave ? trust_ : 0};
  const ShadowRounds rounds{.samples = static_cast<double>(spec_.global_batch_size) / fleet_.size(),
                            .communication = BarrierCost(),
                            .are_late_interrupted = LateWorkerOf(spec_) == LateWorker::kInterrupt};
  estimates_ =
      Estimate(fleet_.Shadows(BarrierCost(), now), rounds, async, noise_, foresight_.Share());
  const ChoiceReason reason = is_tripped   ? ChoiceReason::kLossRose
                              : is_overdue ? ChoiceReason::kOverdue
                                           : ChoiceReason::kFaster;
  const AutoChoice best = Best(*estimates_, choice_);
  const bool is_early = is_async() && !is_tripped && sweeps_in_mode_ < kSweepsMin;
  if (is_early && best.way == Way::kBarrier)
    return {{Way::kAsync, PushesOfAsync(fleet_.size())}, reason};
  return {best, reason};
}

uint32_t AutoPolicy::PushesOf(const AutoChoice& choice) const {
  return choice.k > 0 ? choice.k : fleet_.size();
}

void AutoPolicy::NoteSeconds(double seconds) {
  choice_seconds_ += seconds;
  ++choice_rounds_;
}

// As the estimates are, with the seconds that it took.
double AutoPolicy::MeasuredProgress() const {
  if (choice_rounds_ == 0 || choice_seconds_ <= 0) return 0;
  const uint32_t workers = fleet_.size();
  return WorthOf(choice_, noise_, workers, trust_) * choice_rounds_ / choice_seconds_;
}

void AutoPolicy::TellMeasured(std::vector<Decision>& decisions) {
  if (progress_before_ <= 0 || choice_rounds_ < (is_async() ? kSweepsTold : kRoundsTold)) return;
  gain_measured_ = MeasuredProgress() / progress_before_;
  decisions.push_back(Chosen{.way = choice_.way,
                             .pushes = PushesOf(choice_),
                             .reason = ChoiceReason::kMeasured,
                             .gain = gain_measured_});
  progress_before_ = 0;
}

void AutoPolicy::Adopt(const Wish& wish, Time now, std::vector<Decision>& decisions) {
  const AutoChoice& choice = wish.choice;
  const bool is_other_mode = choice.way != choice_.way;
  const double expected = estimates_ && wish.reason != ChoiceReason::kMembers
                              ? estimates_->ProgressOf(choice) / estimates_->ProgressOf(choice_)
                              : 1;
  gain_expected_ = std::isfinite(expected) ? expected : 1;
  gain_measured_ = 0;
  ++choices_[static_cast<size_t>(wish.reason)];
  progress_before_ = wish.reason == ChoiceReason::kFaster ? MeasuredProgress() : 0;
  choice_seconds_ = 0;
  choice_rounds_ = 0;
  choice_ = choice;
  decisions.push_back(Chosen{.way = choice_.way,
                             .pushes = PushesOf(choice_),
                             .reason = wish.reason,
                             .gain = gain_expected_});
  is_round_whole_ = is_round_whole_ && now == round_began_ && !is_other_mode;
  if (is_other_mode) {
    is_async() ? guard_.BeginAsync() : guard_.BeginBarrier();
    Restart(now);
    is_due_ = false;
    sweeps_in_mode_ = 0;
  }
  const size_t first = decisions.size();
  engine_.Observe(Reconfigured{SpecOf(spec_, choice_)}, now, decisions);
  Note(Spare{}, decisions, first, now);
  SetOverdue(round_began_);
}

void AutoPolicy::Tell(std::vector<Figure>& figures) const {
  engine_.Tell(figures);
  figures.push_back({&kAutoAsync, is_async() ? 1.0 : 0.0});
  for (const auto& [reason, word] : WordsOf(ChoiceReason{})) {
    if (reason != ChoiceReason::kMeasured)
      figures.push_back({&kAutoChoices, double(choices_[size_t(reason)]), std::string(word)});
  }
  figures.push_back({&kAutoGain, gain_expected_, "expected"});
  if (gain_measured_ > 0) figures.push_back({&kAutoGain, gain_measured_, "measured"});
  if (!estimates_) return;
  const auto best = std::max_element(estimates_->progress.begin(), estimates_->progress.end());
  figures.push_back({&kAutoProgress, estimates_->progress.back(), "barrier-of-all"});
  figures.push_back({&kAutoProgress, *best, "barrier"});
  figures.push_back({&kAutoProgress, estimates_->async_progress, "async"});
}

}  // namespace paceline::sync
