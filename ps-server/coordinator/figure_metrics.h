// Defines FigureMetrics: a policy's figures as metrics.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/sync/contract/figure.h"
#include "lib/telemetry/metrics.h"

namespace paceline::ps {

// One owner at a time; the registry may be read by any.
class FigureMetrics {
 public:
  // Registers every kind. `metrics` outlives it.
  explicit FigureMetrics(telemetry::Metrics* metrics);

  // What the policy tells now. A gauge that it told before and does not tell any more goes; a total
  // stays, and grows on if another policy begins at 0.
  void Show(const std::vector<sync::Figure>& figures);

 private:
  using Series = std::pair<const sync::FigureKind*, std::string>;  // And its label.

  std::map<const sync::FigureKind*, telemetry::GaugeFamily> gauges_;
  std::map<const sync::FigureKind*, telemetry::CounterFamily> totals_;
  std::map<Series, double> shown_;
};

}  // namespace paceline::ps
