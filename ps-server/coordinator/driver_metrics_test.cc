#include "ps-server/coordinator/driver_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::ps {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(DriverMetricsTest, SaysHowManyPushesTheLatestCommitTook) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  const sync::Accumulate push{.worker = WorkerId(0), .sequence = Sequence(1), .weight = 1};
  driver_metrics.Decided({push, push, push});
  driver_metrics.Decided({push, sync::Commit{}, push});
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_commit_pushes 4\n"));
  driver_metrics.Decided({push, sync::Commit{}});
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_commit_pushes 2\n"));
}

TEST(DriverMetricsTest, CountsAWorkerThatJoinsTwiceOnce) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  driver_metrics.Observed(sync::WorkerJoined{WorkerId(0)});
  driver_metrics.Observed(sync::WorkerJoined{WorkerId(1)});
  driver_metrics.Observed(sync::WorkerJoined{WorkerId(1)});
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_workers 2\n"));
  driver_metrics.Observed(sync::WorkerLeft{.worker = WorkerId(0)});
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_workers 1\n"));
}

TEST(DriverMetricsTest, MeasuresACommitWhicheverOfPublicationAndReleaseComesFirst) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  const Time start;
  const auto published = [](uint64_t version) {
    return coordination::VersionPublished{.version = Version(version)};
  };
  driver_metrics.CommitSent(Version(1), start, start);
  driver_metrics.Published(published(1), start + Seconds(1));
  driver_metrics.Released(Version(1), start + Seconds(1));
  driver_metrics.Released(Version(1), start + Seconds(9));
  driver_metrics.CommitSent(Version(2), start, start);
  driver_metrics.Released(Version(2), start + Seconds(1));
  driver_metrics.Published(published(2), start + Seconds(1));
  const std::string text = metrics.RenderText();
  EXPECT_THAT(text, HasSubstr("\npaceline_commit_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("\npaceline_commit_seconds_sum 2\n"));
  EXPECT_THAT(text, HasSubstr("\npaceline_release_seconds_count 2\n"));
  EXPECT_THAT(text, HasSubstr("\npaceline_release_seconds_sum 2\n"));
}

TEST(DriverMetricsTest, TellsTheTimeOfStepsAndWhatDroppedPushesCost) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  const auto publish = [&](uint64_t version, double seconds) {
    driver_metrics.Published({.version = Version(version)}, Time{} + Seconds(seconds));
  };
  publish(1, 10);
  publish(2, 10.5);
  publish(3, 12);
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_step_seconds_sum 2\n"));
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_step_seconds_count 2\n"));
  sync::PushArrived push{.worker = WorkerId(3), .sequence = Sequence(1)};
  push.timing.compute = Seconds(0.25);
  driver_metrics.Observed(push);
  driver_metrics.Decided({sync::Drop{WorkerId(3), Sequence(1), sync::DropReason::kSuperseded}});
  push.sequence = Sequence(2);
  driver_metrics.Observed(push);
  driver_metrics.Decided({sync::Accumulate{WorkerId(3), Sequence(2), 1}});
  EXPECT_THAT(
      metrics.RenderText(),
      HasSubstr("\npaceline_wasted_compute_seconds_total{group=\"worker\",worker=\"w3\"} 0.25\n"));
}

TEST(DriverMetricsTest, CountsTheBytesOfEachWorkerOnce) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  coordination::WorkerStatus worker{.worker = WorkerId(3)};
  worker.traffic = {.pushed_bytes = 100, .pulled_bytes = 300};
  driver_metrics.WorkersAre({worker});
  driver_metrics.WorkersAre({worker});
  worker.traffic = {.pushed_bytes = 150, .pulled_bytes = 400};
  driver_metrics.WorkersAre({worker});
  worker.traffic = {.pushed_bytes = 50, .pulled_bytes = 100};  // Of another generation.
  driver_metrics.WorkersAre({worker});
  const std::string text = metrics.RenderText();
  EXPECT_THAT(
      text,
      HasSubstr("\npaceline_worker_pushed_bytes_total{group=\"worker\",worker=\"w3\"} 200\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\npaceline_worker_pulled_bytes_total{group=\"worker\",worker=\"w3\"} 500\n"));
}

// Also before it has joined, as one that a checkpoint knows.
TEST(DriverMetricsTest, NamesAWorkersGroupWhereThereAreSome) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  driver_metrics.WorkersAre({{.worker = WorkerId(3), .seat = {"big", 1}, .threads = 2}});
  EXPECT_THAT(metrics.RenderText(),
              HasSubstr("\npaceline_worker_threads{group=\"big\",worker=\"big/1\"} 2\n"));
}

TEST(DriverMetricsTest, SaysWhatLossScalingComesTo) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  coordination::WorkerStatus worker{.worker = WorkerId(3), .threads = 2};
  driver_metrics.WorkersAre({worker});
  EXPECT_THAT(metrics.RenderText(),
              HasSubstr("\npaceline_worker_threads{group=\"worker\",worker=\"w3\"} 2\n"));
  EXPECT_THAT(metrics.RenderText(), Not(HasSubstr("paceline_worker_loss_scale{")));
  worker.overflows = 2;
  worker.loss_scale = 16384;
  driver_metrics.WorkersAre({worker});
  driver_metrics.WorkersAre({worker});
  const std::string text = metrics.RenderText();
  EXPECT_THAT(text,
              HasSubstr("\npaceline_worker_overflows_total{group=\"worker\",worker=\"w3\"} 2\n"));
  EXPECT_THAT(text,
              HasSubstr("\npaceline_worker_loss_scale{group=\"worker\",worker=\"w3\"} 16384\n"));
}

TEST(DriverMetricsTest, SaysHowLongThePolicyTook) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  driver_metrics.PolicyTook(Seconds(0.25));
  driver_metrics.PolicyTook(Seconds(0.5));
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_policy_event_seconds_sum 0.75\n"));
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_policy_event_seconds_count 2\n"));
}

TEST(DriverMetricsTest, CountsInjectedSleepOfExperimentsAlone) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  sync::PushArrived push{.worker = WorkerId(3), .sequence = Sequence(1)};
  push.timing.compute = Seconds(0.5);
  driver_metrics.Observed(push);
  EXPECT_THAT(metrics.RenderText(), Not(HasSubstr("paceline_worker_injected_seconds_total{")));
  push.sequence = Sequence(2);
  push.timing.injected = Seconds(0.25);
  driver_metrics.Observed(push);
  const std::string text = metrics.RenderText();
  EXPECT_THAT(
      text,
      HasSubstr("\npaceline_worker_injected_seconds_total{group=\"worker\",worker=\"w3\"} 0.25\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\npaceline_worker_compute_seconds_total{group=\"worker\",worker=\"w3\"} 1\n"));
}

TEST(DriverMetricsTest, ForgetsAtARollbackWhatWasOnItsWay) {
  telemetry::Metrics metrics;
  DriverMetrics driver_metrics(&metrics);
  const sync::Accumulate push{.worker = WorkerId(0), .sequence = Sequence(1), .weight = 1};
  driver_metrics.Observed(sync::WorkerJoined{WorkerId(0)});
  driver_metrics.Decided({push, push});
  driver_metrics.RolledBack();
  driver_metrics.Observed(sync::WorkerJoined{WorkerId(1)});
  driver_metrics.Decided({push, sync::Commit{}});
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_commit_pushes 1\n"));
  EXPECT_THAT(metrics.RenderText(), HasSubstr("\npaceline_workers 1\n"));
}

}  // namespace
}  // namespace paceline::ps
