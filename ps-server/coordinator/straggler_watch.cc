#include "ps-server/coordinator/straggler_watch.h"

#include <algorithm>

namespace paceline::ps {
namespace {

constexpr size_t kPushesKept = 15;
constexpr size_t kWorkersMin = 2;  // One alone is nobody's straggler.

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double Median(const std::deque<double>& values) {
  return Median(std::vector<double>(values.begin(), values.end()));
}

void Keep(std::deque<double>& values, double value) {
  values.push_back(value);
  if (values.size() > kPushesKept) values.pop_front();
}

}  // namespace

void StragglerWatch::Pushed(WorkerId worker, Duration compute, uint64_t samples, Time now) {
  if (samples == 0) return;
  Past& past = workers_[worker];
  Keep(past.seconds, ToSeconds(compute));
  Keep(past.sample_seconds, ToSeconds(compute) / static_cast<double>(samples));
  past.sample_seconds_p50 = Median(past.sample_seconds);
  // Judged at its own push: whoever else changed the median is judged at theirs.
  const bool is_slow = SlowdownOf(past) >= options_.slowdown_percent;
  if (!is_slow) past.slow_since.reset();
  if (is_slow && !past.slow_since) past.slow_since = now;
}

void StragglerWatch::Left(WorkerId worker) { workers_.erase(worker); }

WorkerPace StragglerWatch::PaceOf(WorkerId worker, Time now) const {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return {};
  const Past& past = found->second;
  return {.compute_seconds_p50 = Median(past.seconds),
          .slowdown_percent = SlowdownOf(past),
          .is_straggler = past.slow_since && now - *past.slow_since >= options_.for_time};
}

std::optional<double> StragglerWatch::MedianWorker() const {
  if (workers_.size() < kWorkersMin) return std::nullopt;
  std::vector<double> paces;
  for (const auto& [worker, past] : workers_) paces.push_back(past.sample_seconds_p50);
  // The lower one of two: of two workers the slow one is slow, not half of the measure.
  std::sort(paces.begin(), paces.end());
  return paces[(paces.size() - 1) / 2];
}

double StragglerWatch::SlowdownOf(const Past& past) const {
  const std::optional<double> median = MedianWorker();
  return median && *median > 0 ? 100 * past.sample_seconds_p50 / *median : 0;
}

}  // namespace paceline::ps
