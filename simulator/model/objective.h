// Defines Objective: what simulated workers minimise, a model with its training set or something in
// its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/epoch_range.h"
#include "lib/base/status.h"
#include "simulator/kernel/random_stream.h"

namespace paceline::simulator {

using Values = std::vector<double>;  // Parameters, or as many derivatives.

// Equal seeds and questions in an equal order get equal answers. One owner at a time.
class Objective {
 public:
  virtual ~Objective() = default;

  // A life of that seed begins; where it does.
  virtual Values Begin(uint64_t seed) = 0;

  // What the life is judged by: without noise, over all samples.
  virtual double Loss(const Values& at) = 0;
  // Of those samples, one at least: writes the mean gradient, which may draw from `chance`, and
  // gives the loss that their worker tells.
  virtual double Gradient(const Values& at, std::span<const EpochRange> samples,
                          RandomStream& chance, Values& gradient) = 0;

  // OK, or why there were no answers: what it gave since is no number.
  virtual const Status& status() const = 0;
};

}  // namespace paceline::simulator
