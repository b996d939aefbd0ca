#include "simulator/calibration/level_changes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paceline::simulator {
namespace {

constexpr size_t kPartMin = 4;
constexpr double kVarianceMin = 1e-6;  // Of a series that is the same but for its steps.

// Of parts of a series, in constant time each.
class Sums {
 public:
  explicit Sums(std::span<const double> values) {
    for (const double value : values) {
      sums_.push_back(sums_.back() + value);
      squares_.push_back(squares_.back() + value * value);
    }
  }

  double Mean(size_t begin, size_t end) const {
    return (sums_[end] - sums_[begin]) / static_cast<double>(end - begin);
  }
  // Sum of squared differences from the mean.
  double Scatter(size_t begin, size_t end) const {
    const double sum = sums_[end] - sums_[begin];
    return squares_[end] - squares_[begin] - sum * sum / static_cast<double>(end - begin);
  }

 private:
  std::vector<double> sums_ = {0}, squares_ = {0};
};

double NoiseVariance(std::span<const double> values) {
  double sum = 0;
  for (size_t i = 1; i < values.size(); ++i)
    sum += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
  return std::max(sum / (2 * static_cast<double>(values.size() - 1)), kVarianceMin);
}

std::vector<size_t> BestCuts(const Sums& sums, size_t count, double price) {
  // Of the first values: what their best cuts come to, and where the last part begins.
  std::vector<double> least(count + 1, std::numeric_limits<double>::infinity());
  std::vector<size_t> begins(count + 1, 0);
  std::vector<size_t> candidates = {0};  // A last part may begin there; others never are best.
  least[0] = -price;
  for (size_t end = kPartMin; end <= count; ++end) {
    const auto cost = [&](size_t begin) { return least[begin] + sums.Scatter(begin, end); };
    for (const size_t begin : candidates) {
      if (end - begin < kPartMin || cost(begin) + price >= least[end]) continue;
      least[end] = cost(begin) + price;
      begins[end] = begin;
    }
    std::erase_if(candidates, [&](size_t begin) {
      return end - begin >= kPartMin && cost(begin) > least[end];
    });
    if (end + 1 >= 2 * kPartMin) candidates.push_back(end + 1 - kPartMin);
  }
  std::vector<size_t> cuts;
  for (size_t begin = begins[count]; begin > 0; begin = begins[begin]) cuts.push_back(begin);
  std::ranges::reverse(cuts);
  return cuts;
}

// Takes the cut of the smallest step back, as long as that is small.
void TakeSmallOnesBack(const Sums& sums, size_t count, std::vector<size_t>& cuts) {
  const auto step = [&](size_t i) {
    const size_t begin = i == 0 ? 0 : cuts[i - 1];
    const size_t end = i + 1 == cuts.size() ? count : cuts[i + 1];
    return std::abs(sums.Mean(begin, cuts[i]) - sums.Mean(cuts[i], end));
  };
  while (!cuts.empty()) {
    size_t smallest = 0;
    for (size_t i = 1; i < cuts.size(); ++i) {
      if (step(i) < step(smallest)) smallest = i;
    }
    if (step(smallest) >= kLevelStep) return;
    cuts.erase(cuts.begin() + static_cast<ptrdiff_t>(smallest));
  }
}

}  // namespace

std::vector<size_t> LevelChanges(std::span<const double> values) {
  if (values.size() < 2 * kPartMin) return {};
  const Sums sums(values);
  std::vector<size_t> cuts = BestCuts(sums, values.size(), kCutVariances * NoiseVariance(values));
  TakeSmallOnesBack(sums, values.size(), cuts);
  return cuts;
}

}  // namespace paceline::simulator
