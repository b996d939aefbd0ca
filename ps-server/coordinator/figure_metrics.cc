#include "ps-server/coordinator/figure_metrics.h"

#include <algorithm>

namespace paceline::ps {
namespace {

std::vector<std::string> LabelsOf(const sync::FigureKind& kind) {
  if (kind.label.empty()) return {};
  if (kind.label == sync::kWorkerLabel) return {"group", std::string(kind.label)};
  return {std::string(kind.label)};
}

// A worker "big/3" is of the group big; one without a group is of the one that there is.
std::vector<std::string> Labels(const sync::FigureKind& kind, const std::string& value) {
  if (kind.label.empty()) return {};
  if (kind.label != sync::kWorkerLabel) return {value};
  const size_t slash = value.find('/');
  return {slash == std::string::npos ? "worker" : value.substr(0, slash), value};
}

}  // namespace

FigureMetrics::FigureMetrics(telemetry::Metrics* metrics) {
  for (const sync::FigureKind* kind : sync::kFigureKinds) {
    const std::vector<std::string> labels = LabelsOf(*kind);
    if (kind->name.ends_with("_total")) {
      totals_.emplace(kind, metrics->Counters(kind->name, kind->help, labels));
    } else {
      gauges_.emplace(kind, metrics->Gauges(kind->name, kind->help, labels));
    }
  }
}

void FigureMetrics::Show(const std::vector<sync::Figure>& figures) {
  std::map<Series, double> shown;
  for (const sync::Figure& figure : figures) {
    const Series series{figure.kind, figure.label};
    shown[series] = figure.value;
    const auto labels = Labels(*figure.kind, figure.label);
    if (const auto gauge = gauges_.find(figure.kind); gauge != gauges_.end()) {
      gauge->second.With(labels).Set(figure.value);
    } else if (const auto total = totals_.find(figure.kind); total != totals_.end()) {
      const auto before = shown_.find(series);
      const bool is_new = before == shown_.end() || figure.value < before->second;
      total->second.With(labels).Increment(is_new ? figure.value : figure.value - before->second);
    }
  }
  for (const auto& [series, value] : shown_) {
    if (shown.contains(series)) continue;
    if (const auto gauge = gauges_.find(series.first); gauge != gauges_.end())
      gauge->second.Forget(Labels(*series.first, series.second));
  }
  shown_ = std::move(shown);
}

}  // namespace paceline::ps
