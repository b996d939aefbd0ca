#include "lib/chaos/delays.h"

#include <algorithm>
#include <cmath>

#include "lib/base/hash.h"
#include "lib/chaos/draw.h"

namespace paceline::chaos {
namespace {

constexpr double kLongest = 3600;

// Spread evenly over the indices, whatever the number of workers, which may change: with 0.5 every
// second one, the first left out.
bool IsOfFraction(uint64_t index, double fraction) {
  constexpr double kRounding = 1e-9;  // A third, thrice, is one.
  const auto hit_up_to = [&](uint64_t count) {
    return std::floor(static_cast<double>(count) * fraction + kRounding);
  };
  return hit_up_to(index + 1) > hit_up_to(index);
}

bool Hits(const job::Delay& delay, WorkerId worker, std::string_view group) {
  if (delay.group && *delay.group != group) return false;
  uint64_t place = worker.value();
  if (!delay.workers.empty()) {
    const auto listed = std::ranges::find(delay.workers, static_cast<int64_t>(place));
    if (listed == delay.workers.end()) return false;
    place = static_cast<uint64_t>(listed - delay.workers.begin());
  }
  return delay.kind != job::DelayKind::kStepChange || IsOfFraction(place, *delay.fraction);
}

}  // namespace

std::vector<std::string> TracePaths(const job::Chaos& chaos, WorkerId worker,
                                    std::string_view group) {
  std::vector<std::string> paths;
  if (!chaos.enabled) return paths;
  for (const job::Delay& delay : chaos.delays) {
    if (delay.trace && Hits(delay, worker, group)) paths.push_back(*delay.trace);
  }
  return paths;
}

StatusOr<Delays> Delays::Create(const job::Chaos& chaos, WorkerId worker, const TraceTexts& traces,
                                std::string_view group) {
  Delays delays(static_cast<uint64_t>(chaos.seed), worker,
                (group.empty() ? 0 : HashText(group)) + worker.value());
  if (!chaos.enabled) return delays;
  for (size_t i = 0; i < chaos.delays.size(); ++i) {
    const job::Delay& delay = chaos.delays[i];
    if (!Hits(delay, worker, group)) continue;
    Rule rule{.delay = delay, .position = i, .trace = {}};
    if (delay.trace) {
      const auto text = traces.find(*delay.trace);
      StatusOr<TraceTable> table = text == traces.end()
                                       ? StatusOr<TraceTable>(InvalidArgument("was not read"))
                                       : TraceTable::Parse(text->second);
      if (!table.ok()) {
        return InvalidArgument("spec.chaos.delays[{}].trace: {}: {}", i, *delay.trace,
                               Message(table.status()));
      }
      rule.trace = *std::move(table);
    }
    delays.rules_.push_back(std::move(rule));
  }
  return delays;
}

double Delays::Stretch(const Rule& rule, const ComputedStep& step, double seconds) const {
  const job::Delay& delay = rule.delay;
  switch (delay.kind) {
    case job::DelayKind::kConstant:
      return seconds + *delay.seconds;
    case job::DelayKind::kPerWorker:
      return worker_.value() < delay.per_worker.size() ? seconds + delay.per_worker[worker_.value()]
                                                       : seconds;
    case job::DelayKind::kPerSample:
      return seconds + *delay.seconds_per_sample * static_cast<double>(step.samples);
    case job::DelayKind::kShiftedExponential: {
      const double drawn = DrawExponential(
          {.seed = seed_, .worker = stream_, .step = step.index, .delay = rule.position});
      return std::max(seconds, *delay.scale * ((1 - *delay.alpha) + *delay.alpha * drawn));
    }
    case job::DelayKind::kRatio:
      return seconds / *delay.ratio;
    case job::DelayKind::kStepChange:
      return step.index >= static_cast<uint64_t>(*delay.at_step) ? seconds * *delay.factor
                                                                 : seconds;
    case job::DelayKind::kTrace:
      return seconds + rule.trace->Seconds(step.index, worker_.value());
  }
  return seconds;
}

Duration Delays::After(const ComputedStep& step) const {
  const double compute = ToSeconds(step.compute);
  double seconds = compute;
  for (const Rule& rule : rules_) seconds = Stretch(rule, step, seconds);
  return Seconds(std::clamp(seconds - compute, 0.0, kLongest));
}

}  // namespace paceline::chaos
