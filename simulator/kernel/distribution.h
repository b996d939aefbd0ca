// Defines Distribution: what a time, or a factor of one, is drawn from. None is below 0.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "lib/base/status.h"
#include "simulator/kernel/random_stream.h"

namespace paceline::simulator {

struct Constant {
  double value = 1;
};
struct Uniform {
  double low = 0, high = 1;
};
struct Exponential {
  double mean = 1;
};
struct ShiftedExponential {
  double shift = 0;  // The least...
  double mean = 1;   // ...and what comes on top of it, in the mean.
};
struct Lognormal {
  double mean = 1;     // Of the value itself...
  double sigma = 0.5;  // ...and the standard deviation of its logarithm.
};
struct Pareto {
  double least = 1;
  double shape = 2;  // The mean is finite above 1, the variance above 2.
};
struct Gamma {
  double mean = 1;
  double shape = 2;
};
struct Empirical {
  std::vector<double> values;  // One of them, each as likely.
};

using Distribution = std::variant<Constant, Uniform, Exponential, ShiftedExponential, Lognormal,
                                  Pareto, Gamma, Empirical>;

// InvalidArgument naming the parameter, its value and what would be right.
Status Validate(const Distribution& distribution);
// Of a valid one.
double Draw(const Distribution& distribution, RandomStream& stream);
// Infinite where the distribution's is.
double Mean(const Distribution& distribution);

}  // namespace paceline::simulator
