#include "lib/telemetry/metrics.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "lib/base/check.h"

namespace paceline::telemetry {

namespace internal {

template <class Series>
struct SeriesTraits;
template <>
struct SeriesTraits<Counter> {
  using Type = prometheus::Counter;
};
template <>
struct SeriesTraits<Gauge> {
  using Type = prometheus::Gauge;
};
template <>
struct SeriesTraits<Histogram> {
  using Type = prometheus::Histogram;
};

template <class Series>
class Family {
 public:
  using Type = typename SeriesTraits<Series>::Type;

  Family(prometheus::Family<Type>& family, std::vector<std::string> label_names,
         std::vector<double> bounds)
      : family_(family), label_names_(std::move(label_names)), bounds_(std::move(bounds)) {}

  Series With(const std::vector<std::string>& values) {
    const std::map<std::string, std::string> labels = Labels(values);
    if constexpr (std::is_same_v<Series, Histogram>) {
      return Series(&family_.Add(labels, bounds_));
    } else {
      return Series(&family_.Add(labels));
    }
  }

  void Forget(const std::vector<std::string>& values) {
    const std::map<std::string, std::string> labels = Labels(values);
    if (!family_.Has(labels)) return;
    if constexpr (std::is_same_v<Series, Histogram>) {
      family_.Remove(&family_.Add(labels, bounds_));
    } else {
      family_.Remove(&family_.Add(labels));
    }
  }

 private:
  std::map<std::string, std::string> Labels(const std::vector<std::string>& values) const {
    PACELINE_CHECK(values.size() == label_names_.size(), "{}: got {} label values, want {}",
                   family_.GetName(), values.size(), label_names_.size());
    std::map<std::string, std::string> labels;
    for (size_t i = 0; i < values.size(); ++i) labels.emplace(label_names_[i], values[i]);
    return labels;
  }

  prometheus::Family<Type>& family_;
  const std::vector<std::string> label_names_;
  const std::vector<double> bounds_;
};

}  // namespace internal

template <class Series>
Series Family<Series>::With(const std::vector<std::string>& label_values) const {
  return family_->With(label_values);
}
template <class Series>
void Family<Series>::Forget(const std::vector<std::string>& label_values) const {
  family_->Forget(label_values);
}
template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

void Counter::Increment(double by) { series_->Increment(by); }
double Counter::value() const { return series_->Value(); }
void Gauge::Set(double value) { series_->Set(value); }
void Gauge::Add(double by) { series_->Increment(by); }
double Gauge::value() const { return series_->Value(); }
void Histogram::Observe(double value) { series_->Observe(value); }

namespace {

bool IsLowerCaseName(std::string_view name) {
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
         });
}

}  // namespace

Status CheckMetric(MetricKind kind, std::string_view name, std::string_view help,
                   const std::vector<std::string>& label_names) {
  constexpr std::string_view kPrefix = "paceline_";
  constexpr std::string_view kTotal = "_total";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) {
    return InvalidArgument("metric name must begin with {}: got '{}'", kPrefix, name);
  }
  if (!IsLowerCaseName(name)) {
    return InvalidArgument("metric name must be of a-z, 0-9 and _: got '{}'", name);
  }
  if (kind == MetricKind::kCounter && !name.ends_with(kTotal)) {
    return InvalidArgument("counter must end in {}: got '{}'", kTotal, name);
  }
  if (kind != MetricKind::kCounter && name.ends_with(kTotal)) {
    return InvalidArgument("only a counter may end in {}: got '{}'", kTotal, name);
  }
  if (help.empty()) return InvalidArgument("metric has no help text: '{}'", name);
  std::set<std::string_view> seen;
  for (const std::string& label : label_names) {
    const bool is_taken = label == "le" || label.starts_with("__");
    if (!IsLowerCaseName(label) || is_taken || !seen.insert(label).second) {
      return InvalidArgument("label of {} is not a fresh lower-case name: got '{}'", name, label);
    }
  }
  return OkStatus();
}

std::vector<double> ExponentialBuckets(double first, double factor, int count) {
  PACELINE_CHECK(first > 0 && factor > 1 && count > 0, "buckets from {} by {}, {} of them", first,
                 factor, count);
  std::vector<double> bounds;
  for (double bound = first; count > 0; --count, bound *= factor) bounds.push_back(bound);
  return bounds;
}

struct Metrics::Registered {
  prometheus::Registry registry;
  std::mutex mutex;
  std::set<std::string, std::less<>> names;
  std::vector<std::unique_ptr<internal::Family<Counter>>> counters;
  std::vector<std::unique_ptr<internal::Family<Gauge>>> gauges;
  std::vector<std::unique_ptr<internal::Family<Histogram>>> histograms;

  void Claim(MetricKind kind, std::string_view name, std::string_view help,
             const std::vector<std::string>& label_names) {
    const Status status = CheckMetric(kind, name, help, label_names);
    PACELINE_CHECK(status.ok(), "{}", Message(status));
    PACELINE_CHECK(names.emplace(name).second, "metric is registered twice: {}", name);
  }
};

Metrics::Metrics() : registered_(std::make_unique<Registered>()) {}
Metrics::~Metrics() = default;

CounterFamily Metrics::Counters(std::string_view name, std::string_view help,
                                std::vector<std::string> label_names) {
  const std::lock_guard lock(registered_->mutex);
  registered_->Claim(MetricKind::kCounter, name, help, label_names);
  auto& family = prometheus::BuildCounter()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(registered_->registry);
  return CounterFamily(registered_->counters
                           .emplace_back(std::make_unique<internal::Family<Counter>>(
                               family, std::move(label_names), std::vector<double>{}))
                           .get());
}

GaugeFamily Metrics::Gauges(std::string_view name, std::string_view help,
                            std::vector<std::string> label_names) {
  const std::lock_guard lock(registered_->mutex);
  registered_->Claim(MetricKind::kGauge, name, help, label_names);
  auto& family = prometheus::BuildGauge()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(registered_->registry);
  return GaugeFamily(registered_->gauges
                         .emplace_back(std::make_unique<internal::Family<Gauge>>(
                             family, std::move(label_names), std::vector<double>{}))
                         .get());
}

HistogramFamily Metrics::Histograms(std::string_view name, std::string_view help,
                                    std::vector<double> bounds,
                                    std::vector<std::string> label_names) {
  const std::lock_guard lock(registered_->mutex);
  registered_->Claim(MetricKind::kHistogram, name, help, label_names);
  PACELINE_CHECK(!bounds.empty() && std::is_sorted(bounds.begin(), bounds.end()),
                 "{}: buckets are not ascending", name);
  auto& family = prometheus::BuildHistogram()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(registered_->registry);
  return HistogramFamily(registered_->histograms
                             .emplace_back(std::make_unique<internal::Family<Histogram>>(
                                 family, std::move(label_names), std::move(bounds)))
                             .get());
}

Counter Metrics::OneCounter(std::string_view name, std::string_view help) {
  return Counters(name, help).With({});
}

Gauge Metrics::OneGauge(std::string_view name, std::string_view help) {
  return Gauges(name, help).With({});
}

Histogram Metrics::OneHistogram(std::string_view name, std::string_view help,
                                std::vector<double> bounds) {
  return Histograms(name, help, std::move(bounds)).With({});
}

std::string Metrics::RenderText() const {
  return prometheus::TextSerializer().Serialize(registered_->registry.Collect());
}

}  // namespace paceline::telemetry
