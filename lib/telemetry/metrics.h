// Defines Metrics, the registry of what a program counts and measures, in Prometheus' words.
//
// Names are checked when a family is registered, and a bad one stops the program: prefix
// `paceline_`, lower case, `_total` on counters and on nothing else, a help text.
//
// Example:
//   Metrics metrics;
//   CounterFamily dropped = metrics.Counters("paceline_pushes_dropped_total",
//                                            "Pushes whose gradient did not count.",
//                                            {"worker", "reason"});
//   dropped.With({"w3", "too-stale"}).Increment();
//   metrics.RenderText();   // the exposition format, for /metrics
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace paceline::telemetry {

// Handles to one time series each: cheap to copy, valid as long as their Metrics, thread-safe.
class Counter {
 public:
  explicit Counter(prometheus::Counter* series) : series_(series) {}
  void Increment(double by = 1);  // `by` must not be negative; such a value is left out.
  double value() const;

 private:
  prometheus::Counter* series_;
};

class Gauge {
 public:
  explicit Gauge(prometheus::Gauge* series) : series_(series) {}
  void Set(double value);
  void Add(double by);
  double value() const;

 private:
  prometheus::Gauge* series_;
};

class Histogram {
 public:
  explicit Histogram(prometheus::Histogram* series) : series_(series) {}
  void Observe(double value);

 private:
  prometheus::Histogram* series_;
};

namespace internal {
template <class Series>
class Family;  // In metrics.cc.
}

// The time series of one name, one for each list of label values. Cheap to copy, valid as long as
// its Metrics, thread-safe.
template <class Series>
class Family {
 public:
  explicit Family(internal::Family<Series>* family) : family_(family) {}

  // The series with these label values, in the order of the label names; made at the first call, at
  // 0. Their number must be that of the names, or the program stops. A handle may be kept.
  Series With(const std::vector<std::string>& label_values) const;
  // Takes the series with these label values away, if there is one: what it counted is gone. Of
  // handles to it, none may be used any more.
  void Forget(const std::vector<std::string>& label_values) const;

 private:
  internal::Family<Series>* family_;
};
using CounterFamily = Family<Counter>;
using GaugeFamily = Family<Gauge>;
using HistogramFamily = Family<Histogram>;

enum class MetricKind { kCounter, kGauge, kHistogram };

// InvalidArgument, saying which rule is broken, for a family that Metrics would refuse.
Status CheckMetric(MetricKind kind, std::string_view name, std::string_view help,
                   const std::vector<std::string>& label_names);

// `count` bucket bounds, each `factor` times the one before: for durations over several decades.
std::vector<double> ExponentialBuckets(double first, double factor, int count);

// Owns the series. Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A family of a name may be registered once; twice, or a bad name, stops the program.
  CounterFamily Counters(std::string_view name, std::string_view help,
                         std::vector<std::string> label_names = {});
  GaugeFamily Gauges(std::string_view name, std::string_view help,
                     std::vector<std::string> label_names = {});
  // `bounds` are the buckets' upper ends, ascending, without infinity.
  HistogramFamily Histograms(std::string_view name, std::string_view help,
                             std::vector<double> bounds, std::vector<std::string> label_names = {});

  // A family of one series, without labels.
  Counter OneCounter(std::string_view name, std::string_view help);
  Gauge OneGauge(std::string_view name, std::string_view help);
  Histogram OneHistogram(std::string_view name, std::string_view help, std::vector<double> bounds);

  // All series in Prometheus' text format, version 0.0.4. A family without a series is not in it.
  std::string RenderText() const;

 private:
  struct Registered;
  std::unique_ptr<Registered> registered_;
};

}  // namespace paceline::telemetry
