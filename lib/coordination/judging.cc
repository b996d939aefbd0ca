#include "lib/coordination/judging.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace paceline::coordination {

std::optional<double> ValueOf(const Measure& measure, const protocol::Evaluated& result) {
  if (measure.metric == "Loss") return result.loss;
  if (measure.metric == "Accuracy") return result.accuracy;
  const auto found = result.metrics.find(measure.metric);
  if (found == result.metrics.end()) return std::nullopt;
  return found->second;
}

std::string WhyNoValue(const Measure& measure, const protocol::Evaluated& result) {
  if (measure.metric == "Accuracy") return "there is no accuracy: " + result.accuracy_from;
  std::string others;
  for (const auto& [name, value] : result.metrics) others += (others.empty() ? "" : ", ") + name;
  return fmt::format("there is no metric {}, {}", measure.metric,
                     others.empty() ? "and no other of the model's own" : "only " + others);
}

bool IsBetter(const JudgingOptions& options, double value, const std::optional<Best>& best) {
  if (!std::isfinite(value)) return false;
  if (!best.has_value()) return true;
  return options.measure.is_higher_better ? value > best->value + options.least_gain
                                          : value < best->value - options.least_gain;
}

void Judged::See(const JudgingOptions& options, const protocol::Evaluated& result) {
  const std::optional<double> value = ValueOf(options.measure, result);
  if (!value.has_value()) return;
  if (IsBetter(options, *value, best)) {
    best = Best{result.version, *value};
    without_better = without_better_or_cut = 0;
    return;
  }
  ++without_better;
  ++without_better_or_cut;
  if (!options.plateau.has_value() || without_better_or_cut <= options.plateau->patience) return;
  ++cuts;
  without_better_or_cut = 0;
}

double Judged::Cut(const std::optional<JudgingOptions::Plateau>& plateau, double rate) const {
  if (!plateau.has_value()) return rate;
  return std::max(rate * std::pow(plateau->factor, cuts), std::min(rate, plateau->rate_min));
}

}  // namespace paceline::coordination
