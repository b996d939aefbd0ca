#include "lib/sync/schemes/dbw/fleet.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace paceline::sync {
namespace {

constexpr double kNewest = 0.2;  // Weight of the newest value in a running mean.

void Move(double& mean, double value) { mean += kNewest * (value - mean); }

}  // namespace

void Fleet::Pushed(WorkerId worker, uint32_t samples, const Timing& timing, bool is_counted) {
  const double seconds = ToSeconds(timing.compute + timing.communication);
  const auto [found, is_new] = workers_.try_emplace(worker, Worker{seconds, double(samples), 1});
  Worker& known = found->second;
  if (known.is_doubted) {
    // One that came too late may still be of the size before.
    known = Worker{seconds, double(samples), known.accepted, !is_counted};
  } else if (!is_new) {
    Move(known.seconds, seconds);
    Move(known.samples, samples);
  }
  Move(known.accepted, is_counted ? 1 : 0);
}

void Fleet::DoubtAll() {
  for (auto& [id, worker] : workers_) worker.is_doubted = true;
}

void Fleet::Sort() {
  std::vector<std::pair<double, double>> by_speed;
  by_speed.reserve(workers_.size());
  for (const auto& [id, worker] : workers_) by_speed.emplace_back(worker.seconds, worker.samples);
  std::stable_sort(by_speed.begin(), by_speed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  seconds_of_fastest_.clear();
  samples_of_fastest_.clear();
  double sum = 0;
  for (const auto& [seconds, samples] : by_speed) {
    seconds_of_fastest_.push_back(seconds);
    samples_of_fastest_.push_back(sum += samples);
  }
  if (!by_speed.empty()) mean_batch_ = sum / static_cast<double>(by_speed.size());
}

double Fleet::BatchOfFastest(uint32_t k) const {
  const auto known = static_cast<uint32_t>(samples_of_fastest_.size());
  if (k <= known) return samples_of_fastest_[k - 1];
  return (known > 0 ? samples_of_fastest_.back() : 0) + (k - known) * mean_batch_;
}

void Fleet::Tell(std::vector<Figure>& figures) const {
  for (const auto& [id, worker] : workers_) {
    figures.push_back({&kWorkerRoundTrip, worker.seconds, fmt::format("{}", id)});
    figures.push_back({&kWorkerAcceptRatio, worker.accepted, fmt::format("{}", id)});
  }
}

std::string Fleet::DebugString() const {
  std::string text;
  for (const auto& [id, worker] : workers_)
    text += fmt::format(" {}:{},{}{}", id, worker.seconds, worker.samples,
                        worker.is_doubted ? "?" : "");
  for (const double samples : samples_of_fastest_) text += fmt::format(" {}", samples);
  return text;
}

}  // namespace paceline::sync
