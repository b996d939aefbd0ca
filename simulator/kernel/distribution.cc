#include "simulator/kernel/distribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/base/overloaded.h"

namespace paceline::simulator {
namespace {

Status AtLeast0(const char* name, double value) {
  if (std::isfinite(value) && value >= 0) return OkStatus();
  return InvalidArgument("{} must be at least 0: got {}", name, value);
}
Status Above0(const char* name, double value) {
  if (std::isfinite(value) && value > 0) return OkStatus();
  return InvalidArgument("{} must be above 0: got {}", name, value);
}

}  // namespace

Status Validate(const Distribution& distribution) {
  return std::visit(Overloaded{
                        [](const Constant& d) { return AtLeast0("value", d.value); },
                        [](const Uniform& d) {
                          PACELINE_RETURN_IF_ERROR(AtLeast0("low", d.low));
                          if (std::isfinite(d.high) && d.high >= d.low) return OkStatus();
                          return InvalidArgument("high must be at least low, {}: got {}", d.low,
                                                 d.high);
                        },
                        [](const Exponential& d) { return AtLeast0("mean", d.mean); },
                        [](const ShiftedExponential& d) {
                          PACELINE_RETURN_IF_ERROR(AtLeast0("shift", d.shift));
                          return AtLeast0("mean", d.mean);
                        },
                        [](const Lognormal& d) {
                          PACELINE_RETURN_IF_ERROR(Above0("mean", d.mean));
                          return AtLeast0("sigma", d.sigma);
                        },
                        [](const Pareto& d) {
                          PACELINE_RETURN_IF_ERROR(AtLeast0("least", d.least));
                          return Above0("shape", d.shape);
                        },
                        [](const Gamma& d) {
                          PACELINE_RETURN_IF_ERROR(AtLeast0("mean", d.mean));
                          return Above0("shape", d.shape);
                        },
                        [](const Empirical& d) {
                          if (d.values.empty()) return InvalidArgument("values must not be empty");
                          for (const double value : d.values)
                            PACELINE_RETURN_IF_ERROR(AtLeast0("values", value));
                          return OkStatus();
                        },
                    },
                    distribution);
}

double Draw(const Distribution& distribution, RandomStream& stream) {
  return std::visit(
      Overloaded{
          [](const Constant& d) { return d.value; },
          [&](const Uniform& d) { return d.low + (d.high - d.low) * stream.Uniform(); },
          [&](const Exponential& d) { return d.mean * stream.Exponential(); },
          [&](const ShiftedExponential& d) { return d.shift + d.mean * stream.Exponential(); },
          [&](const Lognormal& d) {
            return d.mean * std::exp(d.sigma * stream.Normal() - d.sigma * d.sigma / 2);
          },
          [&](const Pareto& d) { return d.least * std::exp(stream.Exponential() / d.shape); },
          [&](const Gamma& d) { return d.mean / d.shape * stream.Gamma(d.shape); },
          [&](const Empirical& d) {
            const auto at =
                static_cast<size_t>(stream.Uniform() * static_cast<double>(d.values.size()));
            return d.values[std::min(at, d.values.size() - 1)];
          },
      },
      distribution);
}

double Mean(const Distribution& distribution) {
  return std::visit(Overloaded{
                        [](const Constant& d) { return d.value; },
                        [](const Uniform& d) { return (d.low + d.high) / 2; },
                        [](const Exponential& d) { return d.mean; },
                        [](const ShiftedExponential& d) { return d.shift + d.mean; },
                        [](const Lognormal& d) { return d.mean; },
                        [](const Pareto& d) {
                          return d.shape > 1 ? d.least * d.shape / (d.shape - 1)
                                             : std::numeric_limits<double>::infinity();
                        },
                        [](const Gamma& d) { return d.mean; },
                        [](const Empirical& d) {
                          return std::accumulate(d.values.begin(), d.values.end(), 0.0) /
                                 static_cast<double>(d.values.size());
                        },
                    },
                    distribution);
}

}  // namespace paceline::simulator
