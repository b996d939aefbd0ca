#include "lib/sync/schemes/dbw/dbw.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/sync/schemes/dbw/learning_rate_rule.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

// Steps of one push say nothing of variance: every so many, one must have two.
constexpr uint32_t kStepsWithoutVarianceMax = 50;

// Of kNoiseScale, measured (docs/adr/0068). At a rate that is right for all, a step of fewer than a
// quarter of them can make training diverge, however well their gradients agree.
constexpr NoiseScale::Price kPrice{.of_all = 0.7, .of_gradient = 0.25};
constexpr uint32_t LeastByNoise(uint32_t members) { return (members + 3) / 4; }

DurationTable::Options TableOptions(const DbwOptions& options) {
  return {.depends_on_last = options.late_worker != LateWorker::kInterrupt,
          .refit_steps = options.refit_steps,
          .aging = options.aging};
}

}  // namespace

Dbw::Dbw(const DbwOptions& options)
    : options_(options),
      table_(TableOptions(options)),
      gain_(options.window, options.momentum),
      noise_(kPrice),
      silence_(options.silence_factor, options.silence_seconds) {}

void Dbw::Observe(const StepFact& fact, Time now) {
  std::visit([&](const auto& f) { On(f, now); }, fact);
}

void Dbw::On(const StepBegan& began, Time now) {
  if (began.members > members_) must_see_all_ = true;
  members_ = began.members;
  version_ = began.version;
  workers_ = std::max<uint32_t>(began.workers, 1);
  if (members_ > 0) table_.Resize(members_);
  gain_.BeginStep();
  began_ = now;
  arrivals_.clear();
  choice_ = Choose();
  silence_.Began(now, table_.is_known()
                          ? std::optional(table_.Seconds(h_.value_or(members_), members_))
                          : std::nullopt);
  // Who is interrupted shows no time.
  if (options_.late_worker != LateWorker::kInterrupt)
    late_.Began(version_, h_.value_or(members_), members_, silence_.deadline(), now);
}

void Dbw::On(const PushCounted& push, Time now) {
  const double seconds = ToSeconds(now - began_);
  arrivals_.push_back(seconds);
  if (push.gradient.is_empty) return AddLate(push.worker, version_, now);
  table_.Add(h_.value_or(members_), push.rank, seconds);
  AddLate(push.worker, version_, now);
  gain_.AddPush(push.samples, push.gradient.squared_norm, push.gradient.loss);
  if (WeighsNoise()) noise_.AddPush(push.samples, push.gradient.squared_norm);
  fleet_.Pushed(push.worker, push.samples, push.timing, true);
}

void Dbw::On(const PushLate& push, Time now) {
  fleet_.Pushed(push.worker, push.samples, push.timing, false);
  AddLate(push.worker, push.based_on, now);
}

// The running step's own pushes are in the table already.
void Dbw::AddLate(WorkerId worker, Version based_on, Time now) {
  const std::optional<LateArrivals::Arrival> arrival = late_.Pushed(worker, based_on, now);
  if (arrival && arrival->is_late) table_.Add(arrival->h, arrival->rank, arrival->seconds);
}

void Dbw::On(const StepClosed& closed, Time) {
  silence_.Ended();
  late_.Closed();
  table_.StepClosed();
  if (WeighsNoise()) noise_.Close(1.0 / options_.window);
  ++reasons_[static_cast<size_t>(choice_.reason)];
  if (warm_steps_ < options_.warmup_steps) ++warm_steps_;
  must_see_all_ = false;
  factor_ = LearningRateScale(closed.pushes);
  h_ = closed.pushes;
  arrivals_before_ = std::exchange(arrivals_, {});
}

void Dbw::On(const StepCommitted& committed, Time) {
  schedule_rate_ = committed.learning_rate / factor_;
  gain_.Applied(committed.learning_rate, committed.squared_norm, committed.clip_scale);
  if (WeighsNoise()) noise_.Applied(committed.squared_norm);
}

// Pushes under way are of the sizes before: what they would show of the step that is followed is
// not what a step takes from now on.
void Dbw::On(const SizesChanged&, Time) {
  table_.DoubtAll();
  late_.GiveUp();
  fleet_.DoubtAll();
}

void Dbw::On(const WorkerForgotten& gone, Time) {
  fleet_.Forget(gone.worker);
  late_.GiveUp();
}

void Dbw::On(const SilentGivenUp&, Time) {
  silence_.Ended();
  late_.GiveUp();
}

void Dbw::On(const Spare& spare, Time) {
  if (!table_.WantsFit()) return;
  table_.WorkOnFit(spare.budget);
  if (!table_.WantsFit()) fleet_.Sort();
}

bool Dbw::KnowsGain() const {
  if (options_.method == DbwMethod::kGain) return gain_.is_known();
  return IsBlind() || noise_.is_known();
}

bool Dbw::KnowsEnough() const {
  return table_.is_known() && KnowsGain() && warm_steps_ >= options_.warmup_steps;
}

Dbw::Choice Dbw::Choose() const {
  if (!KnowsEnough() || must_see_all_) return {workers_, Reason::kWarmUp};
  Choice choice = MostWorth();
  if (options_.method == DbwMethod::kGain) {
    if (options_.loss_rule != LossRule::kOff && gain_.LossRose(options_.beta)) {
      const uint32_t most =
          options_.loss_rule == LossRule::kJump ? workers_ : h_.value_or(workers_) + 1;
      if (std::min(most, workers_) > choice.k)
        choice = {std::min(most, workers_), Reason::kLossRose};
    }
  }
  if (!IsBlind() && gain_.steps_since_variance() >= kStepsWithoutVarianceMax)
    choice.k = std::max<uint32_t>(choice.k, 2);
  if (WeighsNoise()) choice.k = std::max(choice.k, LeastByNoise(members_));
  choice.k = std::min(std::max(choice.k, options_.k_min), workers_);
  return choice;
}

// Of equals the largest: its gradient is the better one.
Dbw::Choice Dbw::MostWorth() const {
  Choice best{workers_, Reason::kNone};
  double most = WorthOf(workers_);
  bool is_gain = GainOf(workers_) > 0;
  for (uint32_t cell = table_.grid().cells(); cell-- > 0;) {
    const uint32_t k = table_.grid().LastRank(cell);
    if (k >= workers_) continue;
    is_gain = is_gain || GainOf(k) > 0;
    if (const double worth = WorthOf(k); worth > most) {
      most = worth;
      best.k = k;
    }
  }
  if (is_gain) return best;
  const bool holds = options_.no_gain == NoGain::kHold && h_.has_value();
  return {holds ? std::min(*h_, workers_) : workers_, Reason::kNoGain};
}

double Dbw::GainOf(uint32_t k) const {
  if (IsBlind()) return k;
  const uint32_t members = std::max<uint32_t>(members_, 1);
  const double factor = LearningRateFactor(options_, k, members);
  const double samples = fleet_.BatchOfFastest(k);
  if (WeighsNoise()) return noise_.Gain(samples, fleet_.BatchOfFastest(members), factor);
  return gain_.Gain(schedule_rate_ * factor, samples);
}

double Dbw::WorthOf(uint32_t k) const {
  return GainOf(k) / table_.Seconds(h_.value_or(members_), k);
}

uint32_t Dbw::PushesWanted(uint32_t taking_part) const {
  return members_ == 0 ? taking_part : choice_.k;
}

double Dbw::LearningRateScale(uint32_t pushes) const {
  return LearningRateFactor(options_, pushes, std::max<uint32_t>(members_, 1));
}

void Dbw::Tell(std::vector<Figure>& figures) const {
  figures.push_back(
      {&kBackupWorkers, static_cast<double>(members_ - std::min(choice_.k, members_))});
  if (options_.method == DbwMethod::kGain) {
    figures.push_back({&kDbwSquaredGradient, gain_.squared_gradient()});
    figures.push_back({&kDbwSampleVariance, gain_.sample_variance()});
    figures.push_back({&kDbwSmoothness, gain_.smoothness()});
  } else if (WeighsNoise()) {
    figures.push_back({&kDbwSquaredGradient, noise_.squared_gradient()});
    figures.push_back({&kDbwSampleVariance, noise_.sample_variance()});
  }
  figures.push_back({&kDbwLoss, gain_.loss()});
  static constexpr std::pair<Reason, const char*> kReasons[] = {
      {Reason::kWarmUp, "warm-up"}, {Reason::kNoGain, "no-gain"}, {Reason::kLossRose, "loss-rose"}};
  for (const auto& [reason, word] : kReasons) {
    figures.push_back(
        {&kDbwFallbacks, static_cast<double>(reasons_[static_cast<size_t>(reason)]), word});
  }
  TellOfEach(figures);
  fleet_.Tell(figures);
}

void Dbw::TellOfEach(std::vector<Figure>& figures) const {
  for (size_t i = 0; i < arrivals_before_.size(); ++i)
    figures.push_back({&kArrivalSeconds, arrivals_before_[i], fmt::format("{}", i + 1)});
  if (!table_.is_known() || members_ == 0) return;
  const bool knows_gain = !IsBlind() && KnowsGain();
  for (uint32_t cell = 0; cell < table_.grid().cells(); ++cell) {
    const uint32_t k = table_.grid().LastRank(cell);
    const std::string label = fmt::format("{}", k);
    figures.push_back({&kDbwSeconds, table_.Seconds(h_.value_or(members_), k), label});
    if (knows_gain) figures.push_back({&kDbwGain, GainOf(k), label});
  }
}

std::string Dbw::Save() const {
  FieldWriter line("dbw");
  line.AddUnless(0u, "warm", warm_steps_)
      .AddUnless(0.0, "rate", schedule_rate_)
      .AddUnless(0u, "last", h_.value_or(0));
  if (WeighsNoise()) line.Add("noise", noise_.Save());
  return line.Take() + "\n" + gain_.Save() + table_.Save();
}

StatusOr<std::unique_ptr<Dbw>> Dbw::Make(const DbwOptions& options, std::string_view saved) {
  auto dbw = std::make_unique<Dbw>(options);
  while (!saved.empty()) {
    const std::string_view line = saved.substr(0, saved.find('\n'));
    if (const Status status = dbw->Restore(line); !status.ok())
      return DataLoss("saved state of DBW cannot be read: {}", Message(status));
    saved.remove_prefix(std::min(line.size() + 1, saved.size()));
  }
  return dbw;
}

Status Dbw::Restore(std::string_view line) {
  if (line.starts_with("gain")) return gain_.Restore(line);
  if (line.starts_with("duration")) return table_.Restore(line);
  Fields fields(line);
  const auto kind = fields.Next<std::string>("kind");
  if (kind != "dbw") return DataLoss("line is of no kind that is known: {}", line);
  uint32_t last = 0;
  fields.Take("warm", warm_steps_);
  fields.Take("rate", schedule_rate_);
  if (fields.Take("last", last)) h_ = std::max<uint32_t>(last, 1);
  std::string noise;
  if (fields.Take("noise", noise)) PACELINE_RETURN_IF_ERROR(noise_.Restore(noise));
  return fields.Finish();
}

std::string Dbw::DebugString() const {
  std::string text =
      Save() + fmt::format("{} of {}, {} wanted, {} members{}", choice_.k, workers_,
                           int(choice_.reason), members_, must_see_all_ ? ", new" : "");
  for (const double seconds : arrivals_) text += fmt::format(" {}", seconds);
  if (silence_.deadline())
    text += fmt::format(" until {}", ToSeconds(*silence_.deadline() - began_));
  if (table_.WantsFit()) text += " unfit";
  text += late_.DebugString(began_);
  text += fleet_.DebugString();
  std::replace(text.begin(), text.end(), '\n', ';');
  return text;
}

}  // namespace paceline::sync
