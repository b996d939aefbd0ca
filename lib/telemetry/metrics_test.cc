#include "lib/telemetry/metrics.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Metrics, RendersCountersWithLabels) {
  Metrics metrics;
  const CounterFamily dropped =
      metrics.Counters("paceline_pushes_dropped_total", "Dropped.", {"worker", "reason"});
  dropped.With({"w3", "too-stale"}).Increment();
  dropped.With({"w3", "too-stale"}).Increment(2);
  dropped.With({"w4", "late"}).Increment();
  const std::string text = metrics.RenderText();
  EXPECT_THAT(text, HasSubstr("# HELP paceline_pushes_dropped_total Dropped.\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE paceline_pushes_dropped_total counter\n"));
  EXPECT_THAT(text,
              HasSubstr("paceline_pushes_dropped_total{reason=\"too-stale\",worker=\"w3\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("paceline_pushes_dropped_total{reason=\"late\",worker=\"w4\"} 1\n"));
}

TEST(Metrics, ACounterNeverGoesDown) {
  Metrics metrics;
  Counter counter = metrics.OneCounter("paceline_commits_total", "Commits.");
  counter.Increment(2);
  counter.Increment(-1);
  EXPECT_EQ(counter.value(), 2);
}

TEST(Metrics, AGaugeIsSetAndMoved) {
  Metrics metrics;
  Gauge gauge = metrics.OneGauge("paceline_workers", "Workers.");
  gauge.Set(4);
  gauge.Add(-1);
  EXPECT_EQ(gauge.value(), 3);
  EXPECT_THAT(metrics.RenderText(), HasSubstr("paceline_workers 3\n"));
}

TEST(Metrics, AHistogramFillsItsBuckets) {
  Metrics metrics;
  Histogram seconds = metrics.OneHistogram("paceline_step_seconds", "A step.", {0.1, 1});
  seconds.Observe(0.05);
  seconds.Observe(0.5);
  seconds.Observe(50);
  const std::string text = metrics.RenderText();
  EXPECT_THAT(text, HasSubstr("paceline_step_seconds_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("paceline_step_seconds_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("paceline_step_seconds_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("paceline_step_seconds_count 3\n"));
}

TEST(Metrics, LabelValuesAreEscaped) {
  Metrics metrics;
  metrics.Gauges("paceline_build", "B.", {"version"}).With({"a\"b\nc"}).Set(1);
  EXPECT_THAT(metrics.RenderText(), HasSubstr(R"(version="a\"b\nc")"));
}

TEST(Metrics, AFamilyWithoutSeriesIsNotRendered) {
  Metrics metrics;
  metrics.Counters("paceline_silent_total", "Nothing yet.", {"worker"});
  EXPECT_THAT(metrics.RenderText(), Not(HasSubstr("paceline_silent_total{")));
}

TEST(Metrics, ManyThreadsCountTogether) {
  Metrics metrics;
  const CounterFamily family = metrics.Counters("paceline_events_total", "Events.", {"kind"});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([family] {
      for (int i = 0; i < 1000; ++i) family.With({"one"}).Increment();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(family.With({"one"}).value(), 4000);
}

TEST(CheckMetric, NamesTheBrokenRule) {
  struct Case {
    MetricKind kind;
    const char* name;
    const char* help;
    std::vector<std::string> labels;
    const char* want;
  };
  const Case cases[] = {
      {MetricKind::kGauge, "workers", "h", {}, "must begin with paceline_"},
      {MetricKind::kGauge, "paceline_", "h", {}, "must begin with paceline_"},
      {MetricKind::kGauge, "paceline_Workers", "h", {}, "a-z, 0-9 and _"},
      {MetricKind::kGauge, "paceline_workers-now", "h", {}, "a-z, 0-9 and _"},
      {MetricKind::kCounter, "paceline_pushes", "h", {}, "must end in _total"},
      {MetricKind::kGauge, "paceline_workers_total", "h", {}, "only a counter"},
      {MetricKind::kHistogram, "paceline_step_total", "h", {}, "only a counter"},
      {MetricKind::kGauge, "paceline_workers", "", {}, "no help text"},
      {MetricKind::kGauge, "paceline_workers", "h", {"Worker"}, "got 'Worker'"},
      {MetricKind::kGauge, "paceline_workers", "h", {"a", "a"}, "got 'a'"},
      {MetricKind::kHistogram, "paceline_seconds", "h", {"le"}, "got 'le'"},
  };
  for (const Case& c : cases) {
    const Status status = CheckMetric(c.kind, c.name, c.help, c.labels);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << c.name;
    EXPECT_THAT(Message(status), HasSubstr(c.want)) << c.name;
  }
  EXPECT_TRUE(CheckMetric(MetricKind::kCounter, "paceline_a1_total", "h", {"worker"}).ok());
}

TEST(MetricsDeathTest, ABadFamilyStopsTheProgram) {
  Metrics metrics;
  EXPECT_DEATH(metrics.OneGauge("workers", "W."), "must begin with paceline_");
  metrics.OneGauge("paceline_workers", "W.");
  EXPECT_DEATH(metrics.OneGauge("paceline_workers", "W."), "registered twice");
  EXPECT_DEATH(metrics.OneHistogram("paceline_seconds", "S.", {1, 0.5}), "not ascending");
  const GaugeFamily family = metrics.Gauges("paceline_share", "S.", {"worker", "kind"});
  EXPECT_DEATH(family.With({"w1"}), "got 1 label values, want 2");
}

TEST(ExponentialBuckets, Multiply) {
  EXPECT_THAT(ExponentialBuckets(1, 10, 3), testing::ElementsAre(1, 10, 100));
}

TEST(MetricsTest, ForgottenSeriesAreNotRendered) {
  Metrics metrics;
  const GaugeFamily restarts = metrics.Gauges("paceline_test_restarts", "Restarts.", {"job"});
  restarts.With({"a"}).Set(1);
  restarts.With({"b"}).Set(2);
  restarts.Forget({"a"});
  restarts.Forget({"never there"});
  const std::string text = metrics.RenderText();
  EXPECT_EQ(text.find("job=\"a\""), std::string::npos);
  EXPECT_NE(text.find("paceline_test_restarts{job=\"b\"} 2"), std::string::npos);
}

}  // namespace
}  // namespace paceline::telemetry
