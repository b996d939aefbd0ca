// Defines Figure: a quantity that a policy works with, told to people through metrics and progress.
//
// Each kind is declared once, in kFigureKinds, and becomes a metric of that name. Decisions never
// depend on whether anybody looks.
//
// Example, within a policy:
//   figures.push_back({&kWaitingFor, 3});
//   figures.push_back({&kWorkerBatchSize, 64, "w0"});
#pragma once

#include <string>
#include <string_view>

namespace paceline::sync {

struct FigureKind {
  std::string_view name;   // Of the metric, by its rules: what ends in _total only grows.
  std::string_view help;   // One sentence, with the unit.
  std::string_view label;  // What tells its series apart ("worker", "k"); empty if there is one.
};

struct Figure {
  const FigureKind* kind = nullptr;
  double value = 0;
  std::string label = {};  // Of the kind's label.
};

inline constexpr FigureKind kWaitingFor{
    "paceline_step_waits_for", "Pushes that the running step waits for: k of the n workers.", ""};

// All of them.
inline constexpr const FigureKind* kFigureKinds[] = {
    &kWaitingFor,
};

}  // namespace paceline::sync
