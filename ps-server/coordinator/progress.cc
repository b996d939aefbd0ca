#include "ps-server/coordinator/progress.h"

#include <algorithm>

namespace paceline::ps {
namespace {

constexpr size_t kEpochsShown = 100;
constexpr Duration kWindow = std::chrono::seconds(10);

}  // namespace

ProgressMeter::ProgressMeter(uint64_t epochs_max, uint64_t steps_max)
    : epochs_max_(epochs_max), steps_max_(steps_max) {}

void ProgressMeter::StopsAt(uint64_t epochs_max, uint64_t steps_max) {
  epochs_max_ = epochs_max;
  steps_max_ = steps_max;
}

void ProgressMeter::Opened(Version version, uint64_t committed_samples, Time now) {
  if (!opened_) {
    opened_ = now;
    samples_before_ = committed_samples;
  }
  reopened_ = {now, version.value(), committed_samples};
  window_ = {reopened_};
}

void ProgressMeter::Published(Version version, uint64_t committed_samples, Time now) {
  window_.push_back({now, version.value(), committed_samples});
  // One point older than the window stays, so that the rate spans all of it.
  while (window_.size() > 2 && now - window_[1].at > kWindow) window_.pop_front();
}

void ProgressMeter::Ended(Time now) { ended_ = now; }

Progress ProgressMeter::Measure(const coordination::Coordinator& coordinator, Time now) const {
  Progress progress;
  progress.status = coordinator.status();
  progress.epochs = coordinator.epochs(kEpochsShown);
  for (const coordination::Status::LostShard& lost : progress.status.lost_shards)
    progress.lost_shards.push_back(
        {lost.shard.value(), lost.reason, ToSeconds(now - lost.since), lost.was_there});
  progress.standstill = coordination::StandstillInWords(progress.status, now);
  if (!opened_) return progress;
  const Time until = ended_.value_or(now);
  progress.seconds = ToSeconds(until - *opened_);
  progress.samples_before = samples_before_;
  if (const double span = ToSeconds(until - window_.front().at); span > 0) {
    const Point& newest = window_.back();
    progress.samples_per_second =
        static_cast<double>(newest.samples - window_.front().samples) / span;
    progress.steps_per_second =
        static_cast<double>(newest.version - window_.front().version) / span;
  }
  const auto share = [&](uint64_t samples, uint64_t version) {
    double done = 0;
    if (epochs_max_ > 0 && progress.status.train_samples > 0) {
      done = static_cast<double>(samples) / (static_cast<double>(epochs_max_) *
                                             static_cast<double>(progress.status.train_samples));
    }
    if (steps_max_ > 0)
      done = std::max(done, static_cast<double>(version) / static_cast<double>(steps_max_));
    return std::min(done, 1.0);
  };
  const double done = share(progress.status.committed_samples, progress.status.version.value());
  progress.percent = 100 * done;
  // At the pace since it was last opened: what was there then took no time of this life.
  const double gained = done - share(reopened_.samples, reopened_.version);
  if (gained > 0 && !ended_)
    progress.eta_seconds = ToSeconds(until - reopened_.at) * (1 - done) / gained;
  return progress;
}

}  // namespace paceline::ps
