#include "lib/optim/parameter_groups.h"

#include <algorithm>
#include <cmath>

#include "lib/base/name_pattern.h"

namespace paceline::optim {

Status Validate(std::span<const ParameterGroup> groups) {
  for (size_t i = 0; i < groups.size(); ++i) {
    const ParameterGroup& group = groups[i];
    if (!(group.rate_scale > 0 && std::isfinite(group.rate_scale))) {
      return InvalidArgument("rate scale of parameter group {} must be finite and above 0: got {}",
                             i, group.rate_scale);
    }
    const double decay = group.weight_decay.value_or(0);
    if (!(decay >= 0 && std::isfinite(decay))) {
      return InvalidArgument(
          "weight decay of parameter group {} must be finite and at least 0: got {}", i, decay);
    }
  }
  return OkStatus();
}

const ParameterGroup* GroupOf(std::span<const ParameterGroup> groups, std::string_view name) {
  const auto fits = [&](const ParameterGroup& group) {
    return std::ranges::any_of(group.match,
                               [&](const auto& one) { return FitsPattern(one, name); });
  };
  const auto found = std::ranges::find_if(groups, fits);
  return found == groups.end() ? nullptr : &*found;
}

void StepPart(Optimizer& optimizer, std::span<const Stretch> stretches, size_t begin,
              std::span<const float> current, std::span<const float> sum,
              const StepOptions& options, std::span<float> next) {
  const size_t end = begin + current.size();
  const auto step = [&](size_t from, size_t to, const StepOptions& with) {
    if (from == to) return;
    const size_t at = from - begin, count = to - from;
    optimizer.StepPart(from, current.subspan(at, count), sum.subspan(at, count), with,
                       next.subspan(at, count));
  };
  size_t done = begin;
  auto stretch = std::ranges::partition_point(
      stretches, [begin](const Stretch& one) { return one.end <= begin; });
  for (; stretch != stretches.end() && stretch->begin < end; ++stretch) {
    const size_t from = std::max(stretch->begin, begin), to = std::min(stretch->end, end);
    step(done, from, options);
    if (stretch->is_frozen) {
      if (current.data() != next.data())
        std::ranges::copy(current.subspan(from - begin, to - from),
                          next.subspan(from - begin).begin());
    } else {
      StepOptions own = options;
      own.learning_rate *= stretch->rate_scale;
      if (stretch->weight_decay) own.weight_decay = stretch->weight_decay;
      own.steps_skipped = stretch->steps_skipped;
      step(from, to, own);
    }
    done = to;
  }
  step(done, end, options);
}

}  // namespace paceline::optim
