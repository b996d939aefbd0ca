// Defines ParameterGroup, parameters of a model that are trained in a way of their own, and how a
// step honours it.
//
// Example:
//   const ParameterGroup no_decay{.match = {"*.bias"}, .weight_decay = 0};
//   GroupOf({&no_decay, 1}, "conv1.bias")   // &no_decay
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/optim/optimizer.h"

namespace paceline::optim {

struct ParameterGroup {
  std::vector<std::string> match;      // Patterns of names (FitsPattern).
  std::optional<double> weight_decay;  // Absent: the optimizer's.
  double rate_scale = 1;               // Times the learning rate; > 0.
  bool is_frozen = false;              // No step at all, nor momentum.
  friend bool operator==(const ParameterGroup&, const ParameterGroup&) = default;
};

// InvalidArgument, naming the group by its place and what is right.
Status Validate(std::span<const ParameterGroup> groups);

// The first group one of whose patterns fits; null if none does.
const ParameterGroup* GroupOf(std::span<const ParameterGroup> groups, std::string_view name);

// Elements [begin, end) that are stepped in a way of their own.
struct Stretch {
  size_t begin = 0;
  size_t end = 0;
  std::optional<double> weight_decay;
  double rate_scale = 1;
  bool is_frozen = false;  // No step: neither elements nor their state change.
  uint64_t steps_skipped = 0;
  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// Optimizer::StepPart, each element as its stretch says. `stretches` do not overlap and are in
// order; what is in none of them is stepped by `options` alone.
void StepPart(Optimizer& optimizer, std::span<const Stretch> stretches, size_t begin,
              std::span<const float> current, std::span<const float> sum,
              const StepOptions& options, std::span<float> next);

}  // namespace paceline::optim
