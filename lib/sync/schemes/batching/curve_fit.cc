#include "lib/sync/schemes/batching/curve_fit.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace paceline::sync {
namespace {

using Sizes = std::span<const TimedSize>;

constexpr double kSpan = 1.1;        // From size to size: nearer ones tell noise from nothing.
constexpr double kBaseMax = 0.9;     // Of the largest size's time.
constexpr double kNoise = 0.02;      // What a line is off by, in the mean, needs no knee.
constexpr double kMuchBetter = 0.3;  // Of the line's square error.

double At(const TimeCurve& curve, double samples) {
  return curve.base + curve.per_sample * std::max(0.0, samples - curve.saturation);
}

// Of relative errors.
double WeightOf(const TimedSize& size) { return size.weight / (size.seconds * size.seconds); }

double SquareError(const TimeCurve& curve, Sizes sizes) {
  double error = 0, weights = 0;
  for (const TimedSize& size : sizes) {
    const double off = At(curve, size.samples) / size.seconds - 1;
    error += size.weight * off * off;
    weights += size.weight;
  }
  return error / weights;
}

bool IsSpread(Sizes sizes) {
  return sizes.size() > 1 && sizes.back().samples >= kSpan * sizes.front().samples;
}

// Seconds in proportion to what `regressor` makes of samples.
template <class Regressor>
double FitProportion(Sizes sizes, Regressor regressor) {
  double product = 0, square = 0;
  for (const TimedSize& size : sizes) {
    const double x = regressor(size.samples);
    product += WeightOf(size) * x * size.seconds;
    square += WeightOf(size) * x * x;
  }
  return product / square;
}

struct Straight {
  double base = 0, slope = 0;
};

// None where x does not vary.
template <class Regressor>
std::optional<Straight> FitStraight(Sizes sizes, Regressor regressor) {
  double weights = 0, mean_x = 0, mean_t = 0;
  for (const TimedSize& size : sizes) {
    weights += WeightOf(size);
    mean_x += WeightOf(size) * regressor(size.samples);
    mean_t += WeightOf(size) * size.seconds;
  }
  mean_x /= weights, mean_t /= weights;
  double both = 0, square = 0;
  for (const TimedSize& size : sizes) {
    const double x = regressor(size.samples) - mean_x;
    both += WeightOf(size) * x * (size.seconds - mean_t);
    square += WeightOf(size) * x * x;
  }
  if (square <= 0) return std::nullopt;
  const double slope = both / square;
  return Straight{mean_t - slope * mean_x, slope};
}

// That of a line which is known to rise and to begin at nothing or above.
Straight FitRising(Sizes sizes) {
  const auto samples = [](double x) { return x; };
  if (IsSpread(sizes)) {
    const std::optional<Straight> line = FitStraight(sizes, samples);
    if (line && line->slope > 0 && line->base > 0) return *line;
  }
  return {0, FitProportion(sizes, samples)};
}

TimeCurve FitLine(Sizes sizes) {
  Straight line = FitRising(sizes);
  const double most = sizes.back().samples, longest = line.base + line.slope * most;
  line.base = std::min(line.base, kBaseMax * longest);
  return {.base = line.base, .saturation = 0, .per_sample = (longest - line.base) / most};
}

// The best with its knee at `saturation`, of which some sizes lie beyond.
std::optional<TimeCurve> FitWithKneeAt(double saturation, Sizes sizes) {
  const auto beyond = [&](double x) { return std::max(0.0, x - saturation); };
  const std::optional<Straight> fit = FitStraight(sizes, beyond);
  if (!fit || fit->slope <= 0) return std::nullopt;
  if (fit->base >= fit->slope * saturation)
    return TimeCurve{.base = fit->base, .saturation = saturation, .per_sample = fit->slope};
  const double slope = FitProportion(sizes, [&](double x) { return std::max(x, saturation); });
  return TimeCurve{.base = slope * saturation, .saturation = saturation, .per_sample = slope};
}

// The best with its knee strictly between the last of `flat` and the first of `rising`.
std::optional<TimeCurve> FitWithKneeBetween(Sizes flat, Sizes rising) {
  const double base = FitProportion(flat, [](double) { return 1.0; });
  const Straight line = FitRising(rising);
  const double saturation = (base - line.base) / line.slope;
  if (saturation <= flat.back().samples || saturation >= rising.front().samples)
    return std::nullopt;
  return TimeCurve{.base = base, .saturation = saturation, .per_sample = line.slope};
}

TimeCurve FitFlat(Sizes sizes) {
  const double base = FitProportion(sizes, [](double) { return 1.0; });
  const double most = sizes.back().samples;
  return {.base = base, .saturation = most, .per_sample = base / most};
}

}  // namespace

// The error is a convex function of base, line and slope for each place of the knee between two
// sizes: its least is inside, or at one of the two.
TimeCurve FitCurve(std::span<const TimedSize> sizes) {
  const TimeCurve line = FitLine(sizes);
  const double error = SquareError(line, sizes);
  if (!IsSpread(sizes) || error <= kNoise * kNoise) return line;
  std::optional<TimeCurve> best;
  double least = kMuchBetter * error;
  const auto consider = [&](const std::optional<TimeCurve>& curve) {
    if (!curve) return;
    const double its = SquareError(*curve, sizes);
    if (its < least) best = curve, least = its;
  };
  for (size_t flat = 1; flat < sizes.size(); ++flat) {
    consider(FitWithKneeAt(sizes[flat - 1].samples, sizes));
    consider(FitWithKneeBetween(sizes.first(flat), sizes.subspan(flat)));
  }
  consider(FitFlat(sizes));
  if (!best) return line;
  // No device does more than so many times what it has been seen to.
  best->per_sample = std::max(best->per_sample, (1 - kBaseMax) * best->base / best->saturation);
  return *best;
}

}  // namespace paceline::sync
