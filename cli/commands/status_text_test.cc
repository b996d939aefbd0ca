#include "cli/commands/status_text.h"

#include <gtest/gtest.h>

#include "lib/job/manifest/defaults.h"
#include "lib/job/plan/plan.h"

namespace paceline::commands {
namespace {

using job::ConditionStatus;
using job::ConditionType;

job::TrainingJob Job(const std::string& state) {
  job::TrainingJob job;
  job.metadata.name = "digits";
  job.metadata.name_space = "research";
  job.status.state = state;
  return job;
}

void Set(job::TrainingJob& job, ConditionType type, ConditionStatus status, std::string reason,
         std::string message) {
  job.status.conditions.push_back(
      {.type = type, .status = status, .reason = std::move(reason), .message = std::move(message)});
}

TEST(StatusText, SaysWhyNothingMovesYet) {
  job::TrainingJob job = Job("Unschedulable");
  Set(job, ConditionType::kCreated, ConditionStatus::kTrue, "JobSeen", "seen");
  Set(job, ConditionType::kRunning, ConditionStatus::kFalse, "Starting", "not yet");
  Set(job, ConditionType::kResourcesReady, ConditionStatus::kFalse, "Unschedulable",
      "digits-worker-0 cannot be scheduled: 0/3 nodes");
  Set(job, ConditionType::kSucceeded, ConditionStatus::kFalse, "NotYet", "");
  EXPECT_EQ(StatusText(job),
            "research/digits: Unschedulable\n"
            "Unschedulable: digits-worker-0 cannot be scheduled: 0/3 nodes\n");
}

TEST(StatusText, OfAJobThatIsOverShowsTheLastProgressAndTheEnd) {
  job::TrainingJob job = Job("Failed");
  job.status.progress = job::Progress{.step = 1200,
                                      .epoch = 5.25,
                                      .percent = 52.5,
                                      .eta_seconds = 90,
                                      .loss = 0.5,
                                      .metric = 0.875,
                                      .samples_per_second = 800};
  Set(job, ConditionType::kFailed, ConditionStatus::kTrue, "BackoffLimitExceeded",
      "7 failures, the last: digits-worker-1 exited with code 1");
  Set(job, ConditionType::kDegraded, ConditionStatus::kTrue, "WorkersMissing", "3 of 4");
  EXPECT_EQ(StatusText(job),
            "research/digits: Failed\n"
            "52 %  step 1,200  epoch 5.2  loss 0.5000  accuracy 87.5 %  800 samples/s\n"
            "BackoffLimitExceeded: 7 failures, the last: digits-worker-1 exited with code 1\n");
}

TEST(StatusText, CountsTheWorkersOfEachGroup) {
  job::TrainingJob job = Job("Running");
  job.status.worker_groups = {{.name = "big", .replicas = 4, .ready = 4},
                              {.name = "small", .replicas = 3, .ready = 2}};
  EXPECT_EQ(StatusText(job), "research/digits: Running\nworkers: big 4/4, small 2/3\n");
}

TEST(StatusText, ALossIsNoAccuracy) {
  job::TrainingJob job = Job("Running");
  job.spec.training.stop.target = job::Target{.metric = "Loss", .value = 0.1};
  job.status.progress = job::Progress{.step = 1, .metric = 0.25, .samples_per_second = 3};
  EXPECT_EQ(StatusText(job), "research/digits: Running\n0 %  step 1  epoch 0.0  3 samples/s\n");
}

TEST(StatusText, ShowsAMetricOfTheModelsOwn) {
  job::TrainingJob job = Job("Running");
  job.spec.training.stop.target = job::Target{.metric = "f1", .value = 0.9};
  job.status.progress = job::Progress{.step = 1, .metric = 0.25, .samples_per_second = 3};
  EXPECT_EQ(StatusText(job),
            "research/digits: Running\n0 %  step 1  epoch 0.0  3 samples/s  f1 0.25\n");
}

TEST(StatusText, WithoutAStatusNobodyHasLooked) {
  EXPECT_EQ(StatusText(Job("")), "research/digits: not looked at yet by an operator\n");
}

}  // namespace
}  // namespace paceline::commands
