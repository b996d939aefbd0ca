#include "lib/sync/schemes/rivals/star.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/sync/schemes/dbw/learning_rate_rule.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

constexpr double kStraggles = 1.2;  // Times the fastest: who takes longer is a straggler.

}  // namespace

uint32_t StarQuorum(const std::vector<double>& seconds, const std::vector<double>& samples,
                    double sample_variance, double squared_gradient) {
  const size_t n = seconds.size();
  const double fastest = seconds.front(), slowest = seconds.back();
  if (slowest <= kStraggles * fastest) return static_cast<uint32_t>(n);
  double rate = 0;
  for (const double each : seconds) rate += 1 / each;
  // Times N, which may be 0.
  const auto seconds_needed = [&](size_t x) {
    const double share = (seconds[x - 1] - fastest) / (slowest - fastest);
    const double interval = 1 / rate + (slowest - 1 / rate) * share;
    return interval * (squared_gradient + sample_variance / samples[x - 1]);
  };
  size_t x = 1;
  while (x < n && seconds_needed(x) >= seconds_needed(x + 1)) ++x;
  return static_cast<uint32_t>(x);
}

Star::Star(const DbwOptions& options)
    : options_(options), clock_(options), noise_(NoiseScale::Price{}) {}

void Star::Observe(const StepFact& fact, Time now) {
  std::visit([&](const auto& f) { On(f, now); }, fact);
}

void Star::On(const StepBegan& began, Time now) {
  members_ = began.members;
  workers_ = std::max<uint32_t>(began.workers, 1);
  fleet_.Sort();
  k_ = Choose();
  clock_.Began(now);
}

void Star::On(const PushCounted& push, Time) {
  if (push.gradient.is_empty) return;
  noise_.AddPush(push.samples, push.gradient.squared_norm);
  fleet_.Pushed(push.worker, push.samples, push.timing, true);
}

void Star::On(const PushLate& push, Time) {
  fleet_.Pushed(push.worker, push.samples, push.timing, false);
}

void Star::On(const StepClosed&, Time now) {
  clock_.Closed(now);
  noise_.Close(1.0 / options_.window);
}

void Star::On(const StepCommitted& committed, Time) { noise_.Applied(committed.squared_norm); }

uint32_t Star::Choose() {
  const std::vector<double>& seconds = fleet_.seconds_of_fastest();
  const bool knows_all = seconds.size() >= members_ && !seconds.empty() && seconds.front() > 0;
  if (!knows_all || !noise_.is_known()) return workers_;
  return StarQuorum(seconds, fleet_.samples_of_fastest(), noise_.sample_variance(),
                    noise_.squared_gradient());
}

uint32_t Star::PushesWanted(uint32_t taking_part) const {
  if (members_ == 0) return std::max<uint32_t>(taking_part, 1);
  return std::min(std::max(k_, options_.k_min), workers_);
}

double Star::LearningRateScale(uint32_t pushes) const {
  return LearningRateFactor(options_, pushes, std::max<uint32_t>(members_, 1));
}

void Star::Tell(std::vector<Figure>& figures) const {
  const uint32_t k = std::min(PushesWanted(members_), members_);
  figures.push_back({&kBackupWorkers, static_cast<double>(members_ - k)});
  fleet_.Tell(figures);
}

std::string Star::Save() const {
  FieldWriter line("star");
  line.Add("noise", noise_.Save());
  return line.Take();
}

StatusOr<std::unique_ptr<Star>> Star::Make(const DbwOptions& options, std::string_view saved) {
  auto star = std::make_unique<Star>(options);
  if (saved.empty()) return star;
  Fields fields(saved);
  const auto kind = fields.Next<std::string>("kind");
  const auto noise = fields.Require<std::string>("noise");
  if (!fields.Finish().ok() || kind != "star" || !star->noise_.Restore(noise).ok())
    return DataLoss("saved state of STAR cannot be read: {}", saved.substr(0, 40));
  return star;
}

std::string Star::DebugString() const {
  return fmt::format("{} k {} of {}, {} members", Save(), k_, workers_, members_) +
         clock_.DebugString() + fleet_.DebugString();
}

}  // namespace paceline::sync
