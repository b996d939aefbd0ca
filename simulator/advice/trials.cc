#include "simulator/advice/trials.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace paceline::simulator {
namespace {

Outcome OutcomeOf(const Life& life) {
  Outcome outcome{.ending = life.ending, .seconds = life.seconds};
  if (!life.versions.empty()) {
    outcome.step_seconds =
        life.versions.back().at_seconds / static_cast<double>(life.versions.size());
  }
  return outcome;
}

StatusOr<std::vector<Outcome>> LivesAt(ClusterOptions options, uint32_t seeds, double factor) {
  options.learning_rate *= factor;
  std::vector<Outcome> outcomes;
  for (uint32_t seed = 1; seed <= seeds; ++seed) {
    options.seed = seed;
    PACELINE_ASSIGN_OR_RETURN(const Life life, Simulate(options));
    outcomes.push_back(OutcomeOf(life));
  }
  return outcomes;
}

ptrdiff_t Failed(const std::vector<Outcome>& outcomes) {
  return std::ranges::count(outcomes, false, &Outcome::reached);
}

// From a factor of 1 on by `times`; whether anything was better.
StatusOr<bool> Climb(const ClusterOptions& options, uint32_t seeds, double times, Trials& trials) {
  bool is_better = false;
  for (double factor = times; factor >= kLeastFactor && factor <= kMostFactor; factor *= times) {
    PACELINE_ASSIGN_OR_RETURN(std::vector<Outcome> found, LivesAt(options, seeds, factor));
    if (IsBetter(found, trials.best)) {
      trials.best = std::move(found);
      trials.factor = factor;
      is_better = true;
    } else if (Failed(trials.best) == 0) {
      break;
    }
  }
  return is_better;
}

}  // namespace

bool IsBetter(const std::vector<Outcome>& a, const std::vector<Outcome>& b) {
  if (Failed(a) != Failed(b)) return Failed(a) < Failed(b);
  return MedianSeconds(a) < MedianSeconds(b);
}

double MedianSeconds(const std::vector<Outcome>& outcomes) {
  std::vector<double> seconds;
  seconds.reserve(outcomes.size());
  for (const Outcome& one : outcomes)
    seconds.push_back(one.reached() ? one.seconds : std::numeric_limits<double>::infinity());
  if (seconds.empty()) return std::numeric_limits<double>::infinity();
  std::ranges::sort(seconds);
  const size_t half = seconds.size() / 2;
  return seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
}

StatusOr<Trials> Try(const ClusterOptions& cluster, const sync::PolicySpec& policy,
                     uint32_t seeds) {
  ClusterOptions options = cluster;
  options.policy = policy;
  Trials trials;
  PACELINE_ASSIGN_OR_RETURN(trials.equal, LivesAt(options, seeds, 1));
  trials.best = trials.equal;
  PACELINE_ASSIGN_OR_RETURN(const bool is_faster, Climb(options, seeds, 2, trials));
  if (is_faster) return trials;
  PACELINE_ASSIGN_OR_RETURN([[maybe_unused]] const bool is_slower,
                            Climb(options, seeds, 0.5, trials));
  return trials;
}

}  // namespace paceline::simulator
