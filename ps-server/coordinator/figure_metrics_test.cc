#include "ps-server/coordinator/figure_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::ps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(FigureMetricsTest, EveryKindKeepsTheRulesOfMetrics) {
  telemetry::Metrics metrics;
  FigureMetrics shown(&metrics);  // Stops the program for a bad name.
  std::vector<sync::Figure> all;
  for (const sync::FigureKind* kind : sync::kFigureKinds)
    all.push_back({kind, 1.5, kind->label.empty() ? "" : "w0"});
  shown.Show(all);
  for (const sync::FigureKind* kind : sync::kFigureKinds)
    EXPECT_THAT(metrics.RenderText(), HasSubstr(std::string(kind->name)));
}

TEST(FigureMetricsTest, AWorkersGroupIsALabelOfItsOwn) {
  telemetry::Metrics metrics;
  FigureMetrics shown(&metrics);
  shown.Show({{&sync::kWorkerBatchSize, 2, "big/3"}, {&sync::kWorkerBatchSize, 5, "w3"}});
  EXPECT_THAT(metrics.RenderText(), HasSubstr("{group=\"big\",worker=\"big/3\"} 2"));
  EXPECT_THAT(metrics.RenderText(), HasSubstr("{group=\"worker\",worker=\"w3\"} 5"));
}

TEST(FigureMetricsTest, AGaugeFollowsAndGoesWithItsPolicy) {
  telemetry::Metrics metrics;
  FigureMetrics shown(&metrics);
  shown.Show({{&sync::kWaitingFor, 3}});
  EXPECT_THAT(metrics.RenderText(), HasSubstr("paceline_step_waits_for 3"));
  shown.Show({{&sync::kWaitingFor, 2}});
  EXPECT_THAT(metrics.RenderText(), HasSubstr("paceline_step_waits_for 2"));
  shown.Show({});
  EXPECT_THAT(metrics.RenderText(), Not(HasSubstr("paceline_step_waits_for 2")));
}

}  // namespace
}  // namespace paceline::ps
