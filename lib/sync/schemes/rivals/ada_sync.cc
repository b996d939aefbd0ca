#include "lib/sync/schemes/rivals/ada_sync.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "lib/sync/schemes/dbw/learning_rate_rule.h"
#include "lib/sync/trace/fields.h"

namespace paceline::sync {

AdaSync::AdaSync(const DbwOptions& options)
    : options_(options), clock_(options), k_(options.ada_sync_k) {}

void AdaSync::Observe(const StepFact& fact, Time now) {
  std::visit([&](const auto& f) { On(f, now); }, fact);
  if (const auto* late = std::get_if<PushLate>(&fact))
    fleet_.Pushed(late->worker, late->samples, late->timing, false);
  if (const auto* gone = std::get_if<WorkerForgotten>(&fact)) fleet_.Forget(gone->worker);
  if (std::holds_alternative<SilentGivenUp>(fact)) clock_.GaveUp();
}

void AdaSync::On(const StepBegan& began, Time now) {
  members_ = began.members;
  workers_ = std::max<uint32_t>(began.workers, 1);
  if (!slice_began_) slice_began_ = now;
  JudgeIfDue(now);
  clock_.Began(now);
}

void AdaSync::On(const PushCounted& push, Time) {
  if (push.gradient.is_empty) return;
  loss_sum_ += push.samples * push.gradient.loss;
  samples_ += push.samples;
  fleet_.Pushed(push.worker, push.samples, push.timing, true);
}

void AdaSync::On(const StepClosed&, Time now) {
  clock_.Closed(now);
  if (!first_loss_ && samples_ > 0) first_loss_ = loss_sum_ / samples_;
}

void AdaSync::JudgeIfDue(Time now) {
  if (ToSeconds(now - *slice_began_) < options_.ada_sync_seconds || !first_loss_) return;
  const double ratio = *first_loss_ * samples_ / loss_sum_;
  // No loss, or one that is not positive, says nothing about k.
  if (ratio > 0 && std::isfinite(ratio)) {
    const double k = std::round(options_.ada_sync_k * std::sqrt(ratio));
    k_ = static_cast<uint32_t>(std::clamp(k, 1.0, 1e6));
  }
  slice_began_ = now;
  loss_sum_ = samples_ = 0;
}

uint32_t AdaSync::PushesWanted(uint32_t taking_part) const {
  const uint32_t workers = members_ == 0 ? taking_part : workers_;
  return std::min(std::max(k_, options_.k_min), std::max<uint32_t>(workers, 1));
}

double AdaSync::LearningRateScale(uint32_t pushes) const {
  return LearningRateFactor(options_, pushes, std::max<uint32_t>(members_, 1));
}

void AdaSync::Tell(std::vector<Figure>& figures) const {
  const uint32_t k = std::min(PushesWanted(members_), members_);
  figures.push_back({&kBackupWorkers, static_cast<double>(members_ - k)});
  if (samples_ > 0) figures.push_back({&kDbwLoss, loss_sum_ / samples_});
  fleet_.Tell(figures);
}

std::string AdaSync::Save() const {
  FieldWriter line("ada-sync");
  line.Add("k", k_);
  if (first_loss_) line.Add("first-loss", *first_loss_);
  return line.Take();
}

StatusOr<std::unique_ptr<AdaSync>> AdaSync::Make(const DbwOptions& options,
                                                 std::string_view saved) {
  auto ada_sync = std::make_unique<AdaSync>(options);
  if (saved.empty()) return ada_sync;
  Fields fields(saved);
  const auto kind = fields.Next<std::string>("kind");
  ada_sync->k_ = std::max<uint32_t>(fields.Require<uint32_t>("k"), 1);
  double first_loss = 0;
  if (fields.Take("first-loss", first_loss)) ada_sync->first_loss_ = first_loss;
  if (!fields.Finish().ok() || kind != "ada-sync")
    return DataLoss("saved state of AdaSync cannot be read: {}", saved.substr(0, 40));
  return ada_sync;
}

std::string AdaSync::DebugString() const {
  std::string text = fmt::format("{} {} of {} members, loss {} over {}", Save(), workers_, members_,
                                 loss_sum_, samples_);
  if (slice_began_) text += fmt::format(" slice {}", ToSeconds(clock_.began() - *slice_began_));
  return text + clock_.DebugString() + fleet_.DebugString();
}

}  // namespace paceline::sync
