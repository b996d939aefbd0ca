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
  if (samples == 0 || compute <= Duration{}) return;
  Past& past = workers_[worker];
  Keep(past.seconds, ToSeconds(compute));
  Keep(past.sample_seconds, ToSeconds(compute) / static_cast<double>(samples));
  Forget(past);
  past.sample_seconds_p50 = Median(past.sample_seconds);
  median_.Add(*past.sample_seconds_p50);
  // Judged at its own push: whoever else changed the median is judged at theirs.
  const bool is_slow = SlowdownOf(past) >= options_.slowdown_percent;
  if (!is_slow) past.slow_since.reset();
  if (is_slow && !past.slow_since) past.slow_since = now;
}

void StragglerWatch::Left(WorkerId worker) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  Forget(found->second);
  workers_.erase(found);
}

void StragglerWatch::Forget(const Past& past) {
  if (past.sample_seconds_p50) median_.Remove(*past.sample_seconds_p50);
}

WorkerPace StragglerWatch::PaceOf(WorkerId worker, Time now) const {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return {};
  const Past& past = found->second;
  return {.compute_seconds_p50 = Median(past.seconds),
          .slowdown_percent = SlowdownOf(past),
          .is_straggler = past.slow_since && now - *past.slow_since >= options_.for_time};
}

double StragglerWatch::SlowdownOf(const Past& past) const {
  if (median_.size() < kWorkersMin || !past.sample_seconds_p50 || !(median_.value() > 0)) return 0;
  return 100 * *past.sample_seconds_p50 / median_.value();
}

}  // namespace paceline::ps
