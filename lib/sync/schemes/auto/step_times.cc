#include "lib/sync/schemes/auto/step_times.h"

#include <algorithm>
#include <cstdint>

namespace paceline::sync {
namespace {

constexpr size_t kBefore = 20;    // So many at most are what a run is held against...
constexpr size_t kBeforeMin = 4;  // ...and so many at least.

// Jitter has no such runs: exponential times are 1.5 times their mean four times in a row once in
// 400 steps.
constexpr size_t kSlowerRun = 4, kFasterRun = 6;
constexpr double kSlower = 1.5, kFaster = 0.62;  // Of the mean of those before.

}  // namespace

void StepTimes::Add(double seconds) {
  Push({.seconds = seconds, .seen = seconds});
  ForgetBeforeChange();
}

void StepTimes::AddAborted(double age) {
  double sum = 0;
  size_t longer = 0;
  for (const Step& step : steps_) {
    if (step.seconds <= age) continue;
    sum += step.seconds;
    ++longer;
  }
  const double seconds = longer > 0 ? sum / static_cast<double>(longer) : age;
  Push({.seconds = seconds, .seen = age, .is_whole = false});
  ForgetBeforeChange();
}

double StepTimes::Mean(double age) const {
  if (steps_.empty()) return age;
  const size_t running = ShareOfRunning(age);
  double sum = static_cast<double>(running) * age;
  for (const Step& step : steps_) sum += step.seconds;
  return sum / static_cast<double>(size() + running);
}

double StepTimes::At(size_t turn, double age) const {
  if (steps_.empty()) return age;
  const size_t place = turn % (size() + ShareOfRunning(age));
  return place < size() ? steps_[place].seconds : age;
}

void StepTimes::Push(const Step& step) {
  steps_.push_back(step);
  if (steps_.size() > kKept) steps_.pop_front();
}

void StepTimes::ForgetBeforeChange() {
  has_changed_ = false;
  const auto is_run = [&](size_t length, auto is_other) {
    if (size() < length + kBeforeMin) return false;
    const auto first = steps_.end() - static_cast<ptrdiff_t>(length);
    const size_t before = std::min(size() - length, kBefore);
    double mean = 0;
    for (auto step = first - static_cast<ptrdiff_t>(before); step != first; ++step)
      mean += step->seconds / static_cast<double>(before);
    return std::all_of(first, steps_.end(), [&](const Step& step) { return is_other(step, mean); });
  };
  const auto keep_last = [&](size_t length) {
    steps_.erase(steps_.begin(), steps_.end() - static_cast<ptrdiff_t>(length));
    has_changed_ = true;
  };
  if (is_run(kSlowerRun, [](const Step& step, double mean) { return step.seen > kSlower * mean; }))
    return keep_last(kSlowerRun);
  if (is_run(kFasterRun, [](const Step& step, double mean) {
        return step.is_whole && step.seen < kFaster * mean;
      }))
    keep_last(kFasterRun);
}

size_t StepTimes::ShareOfRunning(double age) const {
  const auto is_slower = [&](const Step& step) { return step.seconds < age; };
  if (!std::all_of(steps_.begin(), steps_.end(), is_slower)) return 0;
  return std::max<size_t>(size() / 4, 1);
}

}  // namespace paceline::sync
