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

// Of those seeds.
StatusOr<std::vector<Outcome>> LivesAt(ClusterOptions options, double factor, uint32_t first_seed,
                                       uint32_t last_seed) {
  options.learning_rate *= factor;
  std::vector<Outcome> outcomes;
  for (uint32_t seed = first_seed; seed <= last_seed; ++seed) {
    options.seed = seed;
    PACELINE_ASSIGN_OR_RETURN(const Life life, Simulate(options));
    outcomes.push_back(OutcomeOf(life));
  }
  return outcomes;
}

ptrdiff_t Failed(const std::vector<Outcome>& outcomes) {
  return std::ranges::count(outcomes, false, &Outcome::reached);
}

double MostSeconds(const std::vector<Outcome>& outcomes) {
  return std::ranges::max_element(outcomes, {}, &Outcome::seconds)->seconds;
}

// From a factor of 1 on by `times`; whether anything was better.
StatusOr<bool> Climb(ClusterOptions cluster, const TryOptions& options, double times,
                     Trials& trials) {
  const double seconds_max = cluster.seconds_max;
  bool is_better = false;
  for (double factor = times; factor >= kLeastFactor && factor <= kMostFactor; factor *= times) {
    if (options.give_up_times > 0 && Failed(trials.best) == 0) {
      const double patience = options.give_up_times * MostSeconds(trials.best);
      cluster.seconds_max = seconds_max > 0 ? std::min(seconds_max, patience) : patience;
    }
    PACELINE_ASSIGN_OR_RETURN(std::vector<Outcome> found,
                              LivesAt(cluster, factor, 1, options.seeds_searching));
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

// The seeds that no other rate was tried with live at the best one, too.
Status LiveTheRest(const ClusterOptions& cluster, const TryOptions& options, Trials& trials) {
  if (trials.factor != 1) {
    PACELINE_ASSIGN_OR_RETURN(
        const std::vector<Outcome> rest,
        LivesAt(cluster, trials.factor, options.seeds_searching + 1, options.seeds));
    trials.best.insert(trials.best.end(), rest.begin(), rest.end());
    if (IsBetter(trials.best, trials.equal)) return OkStatus();
  }
  trials.best = trials.equal;
  trials.factor = 1;
  return OkStatus();
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

double SecondsForOthers(const Trials& recorded, double before) {
  return Failed(recorded.equal) > 0 ? before : kOthersTimes * MostSeconds(recorded.equal);
}

StatusOr<Trials> Try(const ClusterOptions& cluster, const sync::PolicySpec& policy,
                     const TryOptions& options) {
  ClusterOptions with = cluster;
  with.policy = policy;
  TryOptions search = options;
  if (search.seeds_searching == 0) search.seeds_searching = search.seeds;
  search.seeds_searching = std::min(search.seeds_searching, search.seeds);
  Trials trials;
  PACELINE_ASSIGN_OR_RETURN(trials.equal, LivesAt(with, 1, 1, search.seeds));
  trials.best.assign(trials.equal.begin(), trials.equal.begin() + search.seeds_searching);
  PACELINE_ASSIGN_OR_RETURN(const bool is_faster, Climb(with, search, 2, trials));
  if (!is_faster) {
    PACELINE_ASSIGN_OR_RETURN([[maybe_unused]] const bool is_slower,
                              Climb(with, search, 0.5, trials));
  }
  if (search.seeds_searching < search.seeds)
    PACELINE_RETURN_IF_ERROR(LiveTheRest(with, search, trials));
  return trials;
}

}  // namespace paceline::simulator
