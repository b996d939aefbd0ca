#include "simulator/calibration/fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "simulator/calibration/level_changes.h"

namespace paceline::simulator {
namespace {

// So many of a worker's batches differ by so much from their mean before they say what a sample
// costs.
constexpr int64_t kDifferMin = 5;
constexpr double kSpreadMin = 1.1;
constexpr double kFixedMax = 1000;  // As many times a step's samples.

constexpr size_t kUsualGaps = 10;        // By which the first pushes' are replaced.
constexpr size_t kChangeJitterMax = 16;  // There may be many.

struct Step {
  double samples = 0, seconds = 0;
  double began = 0;  // Seconds since the first worker joined.
};

// Of one push several local steps count as so many alike.
std::vector<Step> StepsOf(const RecordedWorker& worker) {
  std::vector<Step> steps;
  for (size_t i = kFirstPushes; i < worker.pushes.size(); ++i) {
    const RecordedPush& push = worker.pushes[i];
    const double count = std::max<uint32_t>(push.steps, 1);
    if (push.compute <= 0 || push.samples == 0) continue;
    steps.push_back({push.samples / count, push.compute / count,
                     ToSeconds(push.came) - push.compute - push.communication});
  }
  return steps;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// What a step costs beyond its samples, in samples, by least squares; nothing where its batches are
// alike. It does not hang on the worker's speed.
std::optional<double> FixedOverPerSample(const std::vector<Step>& steps) {
  const auto count = static_cast<double>(steps.size());
  double samples = 0, seconds = 0;
  for (const Step& step : steps) {
    samples += step.samples / count;
    seconds += step.seconds / count;
  }
  const auto differ = std::ranges::count_if(steps, [&](const Step& step) {
    return step.samples > kSpreadMin * samples || samples > kSpreadMin * step.samples;
  });
  if (differ < kDifferMin) return std::nullopt;
  double covariance = 0, variance = 0;
  for (const Step& step : steps) {
    covariance += (step.samples - samples) * (step.seconds - seconds);
    variance += (step.samples - samples) * (step.samples - samples);
  }
  // Where samples cost nothing that can be seen, nearly all is fixed.
  const double slope = std::max(covariance / variance, seconds / samples / kFixedMax);
  return std::max(0.0, seconds / slope - samples);
}

// So that their mean is 1, as quantiles in the middle of equal parts where there are many.
std::vector<double> Jitter(std::vector<double> ratios, size_t most) {
  std::ranges::sort(ratios);
  const size_t count = std::min(ratios.size(), most);
  std::vector<double> jitter(count);
  for (size_t i = 0; i < count; ++i) {
    // Each part's mean, so that a rare and long step is not lost.
    const size_t begin = i * ratios.size() / count, end = (i + 1) * ratios.size() / count;
    jitter[i] = std::accumulate(ratios.begin() + static_cast<ptrdiff_t>(begin),
                                ratios.begin() + static_cast<ptrdiff_t>(end), 0.0) /
                static_cast<double>(end - begin);
  }
  const double mean =
      std::accumulate(jitter.begin(), jitter.end(), 0.0) / static_cast<double>(count);
  for (double& value : jitter) value /= mean;
  return jitter;
}

// What a worker's clock says too much: its first steps are slow, and changes are to come after as
// many steps as they did.
double SlowStart(const std::vector<Step>& steps) {
  std::vector<double> gaps;
  for (size_t i = 1; i < std::min(steps.size(), kUsualGaps + 1); ++i)
    gaps.push_back(steps[i].began - steps[i - 1].began);
  return steps.front().began - kFirstPushes * Median(std::move(gaps));
}

// What each step took, as many times what the worker's steps take on the whole.
std::vector<double> RatiosOf(const std::vector<Step>& steps, double fixed, double per_sample) {
  std::vector<double> ratios;
  for (const Step& step : steps)
    ratios.push_back(step.seconds / (per_sample * (fixed + step.samples)));
  return ratios;
}

// Empty where the steps are of one level.
std::vector<FittedChange> ChangesOf(const std::vector<Step>& steps,
                                    const std::vector<double>& ratios) {
  std::vector<double> logs;
  for (const double ratio : ratios) logs.push_back(std::log(ratio));
  std::vector<size_t> begins = LevelChanges(logs);
  if (begins.empty()) return {};
  begins.insert(begins.begin(), 0);
  const double start = SlowStart(steps);
  std::vector<FittedChange> changes;
  for (size_t i = 0; i < begins.size(); ++i) {
    const size_t begin = begins[i], end = i + 1 < begins.size() ? begins[i + 1] : steps.size();
    FittedChange change;
    // Between two steps, so that a step a little sooner or later finds the same.
    if (begin > 0)
      change.at_seconds = std::max((steps[begin - 1].began + steps[begin].began) / 2 - start, 0.0);
    std::vector<double> level(ratios.begin() + static_cast<ptrdiff_t>(begin),
                              ratios.begin() + static_cast<ptrdiff_t>(end));
    change.factor =
        std::accumulate(level.begin(), level.end(), 0.0) / static_cast<double>(level.size());
    change.jitter = Jitter(std::move(level), kChangeJitterMax);
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace

StatusOr<FittedCluster> Fit(const Recording& recording) {
  FittedCluster cluster;
  std::vector<std::vector<Step>> steps;
  std::vector<double> fixed_in_samples, communication;
  for (const RecordedWorker& worker : recording.workers) {
    std::vector<Step> its = StepsOf(worker);
    if (its.empty()) continue;
    if (const std::optional<double> fixed = FixedOverPerSample(its))
      fixed_in_samples.push_back(*fixed);
    for (size_t i = kFirstPushes; i < worker.pushes.size(); ++i)
      communication.push_back(worker.pushes[i].communication);
    cluster.workers.push_back(
        {worker.worker, 1, {}, {}, its.size(), worker.joined, worker.absences});
    steps.push_back(std::move(its));
  }
  if (steps.empty()) {
    return InvalidArgument("no worker pushed more than {} times, too few to say how fast it is",
                           kFirstPushes);
  }
  const double fixed = Median(fixed_in_samples);
  std::vector<double> per_sample;
  for (const std::vector<Step>& its : steps) {
    double samples = 0, seconds = 0;
    for (const Step& step : its) {
      samples += fixed + step.samples;
      seconds += step.seconds;
    }
    per_sample.push_back(seconds / samples);
  }
  cluster.per_sample_seconds = std::ranges::min(per_sample);
  cluster.fixed_seconds = fixed * cluster.per_sample_seconds;
  cluster.latency_seconds = Median(communication) / 2;
  cluster.commit_seconds = Median(recording.commits);
  for (size_t i = 0; i < steps.size(); ++i) {
    FittedWorker& worker = cluster.workers[i];
    worker.speed = cluster.per_sample_seconds / per_sample[i];
    const std::vector<double> ratios = RatiosOf(steps[i], fixed, per_sample[i]);
    worker.jitter = Jitter(ratios, kJitterMax);
    worker.changes = ChangesOf(steps[i], ratios);
  }
  return cluster;
}

}  // namespace paceline::simulator
