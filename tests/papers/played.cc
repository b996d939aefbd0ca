#include "tests/papers/played.h"

#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

#include "lib/sync/trace/trace.h"

namespace paceline::papers {
namespace {

void Take(std::string_view line, Played& played) {
  if (line.starts_with(sync::kTracePolicy)) {
    played.spec = *sync::ParsePolicySpec(line.substr(sync::kTracePolicy.size()));
  } else if (line.starts_with(' ')) {
    played.moments.back().decisions.push_back(*sync::ParseDecision(line));
  } else {
    const size_t space = line.find(' ');
    played.moments.push_back(
        {.seconds = ToSeconds(sync::ParseTime(line.substr(0, space))->time_since_epoch()),
         .event = *sync::ParseEvent(line.substr(space + 1)),
         .decisions = {}});
  }
}

}  // namespace

Played Play(simulator::ClusterOptions options) {
  Played played;
  options.trace = [&played](std::string_view line) { Take(line, played); };
  const auto life = simulator::Simulate(options);
  if (!life.ok()) throw std::runtime_error(life.status().ToString());
  return played;
}

std::vector<Round> RoundsOf(const Played& played) {
  std::vector<Round> rounds;
  Round open;
  double began = 0;
  std::map<WorkerId, uint32_t> steps;  // Of each one's newest push.
  for (const Moment& moment : played.moments) {
    if (const auto* push = std::get_if<sync::PushArrived>(&moment.event))
      steps[push->worker] = push->steps;
    for (const sync::Decision& decision : moment.decisions) {
      if (const auto* accumulate = std::get_if<sync::Accumulate>(&decision)) {
        open.steps[accumulate->worker] += steps[accumulate->worker];
        open.weights.push_back(accumulate->weight);
        open.shares[accumulate->worker] += accumulate->weight;
      } else if (std::holds_alternative<sync::Commit>(decision)) {
        open.seconds = moment.seconds - std::exchange(began, moment.seconds);
        rounds.push_back(std::exchange(open, {}));
      }
    }
  }
  return rounds;
}

double MeanRound(const std::vector<Round>& rounds, size_t skipped) {
  double sum = 0;
  for (size_t i = skipped; i < rounds.size(); ++i) sum += rounds[i].seconds;
  return sum / static_cast<double>(rounds.size() - skipped);
}

double MeanSteps(const std::vector<Round>& rounds, WorkerId worker, size_t skipped) {
  double sum = 0;
  for (size_t i = skipped; i < rounds.size(); ++i) {
    const auto found = rounds[i].steps.find(worker);
    if (found != rounds[i].steps.end()) sum += found->second;
  }
  return sum / static_cast<double>(rounds.size() - skipped);
}

simulator::ComputeModel StepOf(double seconds) {
  return {.fixed_seconds = seconds, .per_sample_seconds = 0};
}

}  // namespace paceline::papers
