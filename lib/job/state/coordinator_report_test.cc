#include "lib/job/state/coordinator_report.h"

#include <gtest/gtest.h>

#include "lib/job/manifest/yaml.h"
#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"
#include "lib/job/state/rfc3339.h"

namespace paceline::job {
namespace {

using testing::AllTraining;
using testing::At;
using testing::Events;
using testing::SmallJob;

constexpr const char* kTraining = R"({
  "phase": "training", "step": 23, "epochProgress": 1.23456789, "percent": 8.5, "etaSeconds": 12.3,
  "loss": 0.603907123, "samplesPerSecond": 2428.61, "waitingFor": 2, "generationStart": 4,
  "sync": {"scheme": "SSP", "changing": false},
  "evaluation": {"accuracy": 0.97, "loss": 0.1, "metrics": {"f1": 0.8123456}},
  "poisonedSamples": 2, "poisoned": [{"sample": 17, "epoch": 1, "position": 5}],
  "checkpoint": {"version": 20, "completionTime": "2026-01-31T09:30:00Z", "problem": "volume is full"},
  "workers": [
    {"index": 0, "isMember": true, "hasEnded": true, "batchSize": 16, "computeSecondsP50": 0.1, "slowdownPercent": 100, "isStraggler": false},
    {"index": 1, "isMember": false, "quarantine": {"reason": "its step hangs", "isHung": true, "attempt": 2, "seconds": 7.5}, "batchSize": 16, "computeSecondsP50": 0, "slowdownPercent": 0, "isStraggler": false},
    {"index": 2, "isMember": true, "batchSize": 16, "computeSecondsP50": 0.3, "slowdownPercent": 300, "isStraggler": true}]
})";

CoordinatorReport Report(const char* json) {
  const StatusOr<CoordinatorReport> report = ParseCoordinatorReport(SmallJob(), json);
  EXPECT_TRUE(report.ok()) << Message(report.status());
  return report.value_or(CoordinatorReport{});
}

TEST(CoordinatorReportTest, ReadsARunningJob) {
  const CoordinatorReport report = Report(kTraining);
  EXPECT_EQ(report.generation_start, 4u);
  EXPECT_EQ(report.phase, TrainingPhase::kTraining);
  EXPECT_EQ(report.progress->step, 23);
  EXPECT_EQ(report.progress->epoch, 1.23457);  // Six digits.
  EXPECT_EQ(report.progress->loss, 0.603907);
  EXPECT_EQ(report.progress->metric, 0.97);
  EXPECT_EQ(report.sync->scheme, Scheme::kSsp);
  EXPECT_EQ(report.sync->waiting_for, 2);
  ASSERT_EQ(report.workers.size(), 3u);
  EXPECT_EQ(report.workers[2].name, "digits-worker-2");
  EXPECT_EQ(report.workers[2].group, "worker");
  EXPECT_EQ(report.workers[2].index, 2);
  EXPECT_EQ(report.workers[1].state, "Quarantined");
  ASSERT_EQ(report.hung.size(), 1u);
  EXPECT_EQ(report.hung[0].worker, 1);
  EXPECT_EQ(report.hung[0].attempt, 2);
  EXPECT_EQ(report.hung[0].seconds, 7.5);
  ASSERT_EQ(report.ended.size(), 1u);
  EXPECT_EQ(report.ended[0].worker, 0);
  EXPECT_FALSE(report.have_scripts_ended);
  EXPECT_EQ(report.poisoned, 2);
  EXPECT_EQ(report.poisoned_of, (std::vector<std::string>{"sample 17 (position 5 of epoch 1)"}));
  ASSERT_EQ(report.stragglers.size(), 1u);
  EXPECT_EQ(report.stragglers[0].worker, 2);
  EXPECT_EQ(report.checkpoint->version, 20);
  EXPECT_EQ(report.checkpoint->completion_time, ParseTime("2026-01-31T09:30:00Z"));
}

// Workers of two groups have the same indices.
TEST(CoordinatorReportTest, NamesWorkersByTheirGroups) {
  const CoordinatorReport report = Report(R"({
  "phase": "training", "step": 3,
  "workers": [
    {"group": "big", "index": 1, "isMember": true, "slowdownPercent": 300, "isStraggler": true},
    {"group": "small", "index": 1, "isMember": false,
     "quarantine": {"reason": "its step hangs", "isHung": true, "attempt": 0, "seconds": 7.5}},
    {"group": "worker", "index": 1, "isMember": true, "slowdownPercent": 200, "isStraggler": true}]
})");
  ASSERT_EQ(report.workers.size(), 3u);
  EXPECT_EQ(report.workers[0].name, "digits-big-1");
  EXPECT_EQ(report.workers[0].group, "big");
  EXPECT_EQ(report.workers[1].name, "digits-small-1");
  EXPECT_EQ(report.workers[2].name, "digits-worker-1");
  ASSERT_EQ(report.hung.size(), 1u);
  EXPECT_EQ(report.hung[0].group, "small");
  ASSERT_EQ(report.stragglers.size(), 2u);
  EXPECT_EQ(report.stragglers[0].group, "big");
  EXPECT_EQ(report.stragglers[1].group, "") << "of a job without groups";
}

TEST(CoordinatorReportTest, TellsWhomTheCoordinatorHasLostAndWhatItWaitsFor) {
  const CoordinatorReport report = Report(
      R"({"phase":"startup","step":320,"workers":[],"standstill":"shard s1 is lost: no heartbeat",)"
      R"("lostShards":[{"rank":1,"reason":"no heartbeat","seconds":2.5,"wasThere":true}]})");
  EXPECT_EQ(report.standstill, "shard s1 is lost: no heartbeat");
  ASSERT_EQ(report.lost_shards.size(), 1u);
  EXPECT_EQ(report.lost_shards[0].rank, 1);
  EXPECT_EQ(report.lost_shards[0].reason, "no heartbeat");
  EXPECT_EQ(report.lost_shards[0].seconds, 2.5);
  EXPECT_TRUE(report.lost_shards[0].was_there);
}

TEST(CoordinatorReportTest, TellsOfTheLastRollBack) {
  const CoordinatorReport report = Report(
      R"({"phase":"birth","step":320,"workers":[],"rollBacks":2,"lastRollBack":"shard s1 lost",)"
      R"("rolledBackFrom":340,"rolledBackTo":320,"checkpoint":{"restoredFrom":300}})");
  EXPECT_EQ(report.roll_backs, 2);
  EXPECT_EQ(report.last_roll_back, "shard s1 lost");
  EXPECT_EQ(report.rolled_back_from, 340);
  EXPECT_EQ(report.rolled_back_to, 320);
  EXPECT_EQ(report.restored_from, 300);
}

TEST(CoordinatorReportTest, TheTargetsMetricIsTheMetric) {
  TrainingJob job = SmallJob();
  job.spec.training.stop.target = Target{.metric = "Loss", .value = 0.05};
  const StatusOr<CoordinatorReport> report = ParseCoordinatorReport(job, kTraining);
  EXPECT_EQ(report->progress->metric, 0.1);
  EXPECT_EQ(report->progress->accuracy, 0.97);
  job.spec.training.stop.target->metric = "f1";
  EXPECT_EQ(ParseCoordinatorReport(job, kTraining)->progress->metric, 0.812346);
  job.spec.training.stop.target->metric = "f2";
  EXPECT_EQ(ParseCoordinatorReport(job, kTraining)->progress->metric, std::nullopt);
}

TEST(CoordinatorReportTest, WhatHasFinishedHasItsReason) {
  const CoordinatorReport report = Report(
      R"({"phase": "over", "step": 3, "workers": [], "finished": {"success": false, "reason": "NaN"}})");
  EXPECT_EQ(report.phase, TrainingPhase::kFailed);
  EXPECT_EQ(report.message, "NaN");
}

TEST(CoordinatorReportTest, TellsOfTheEndOfTraining) {
  const CoordinatorReport report = Report(
      R"({"phase": "finishing", "step": 9, "workers": [], "evaluatorGone": true,)"
      R"("finishing": {"reason": "stopped after 9 steps"}, "targetProblem": "no accuracy"})");
  EXPECT_EQ(report.phase, TrainingPhase::kFinishing);
  EXPECT_EQ(report.model_version, std::nullopt);
  EXPECT_TRUE(report.knows_evaluator_gone);
  EXPECT_EQ(report.target_problem, "no accuracy");
  const CoordinatorReport over = Report(
      R"({"phase": "over", "step": 9, "workers": [], "finishing": {"reason": "", "modelVersion": 9},)"
      R"("finished": {"success": false, "reason": "no accuracy", "isUnjudged": true}})");
  EXPECT_EQ(over.phase, TrainingPhase::kFailed);
  EXPECT_EQ(over.model_version, 9);
  EXPECT_TRUE(over.is_unjudged);
}

TEST(CoordinatorReportTest, TellsOfTheModelAndOfCheckpointsThatWereThere) {
  const CoordinatorReport report =
      Report(R"({"phase":"over","step":3,"workers":[],"finished":{"success":true,"reason":""},)"
             R"("model":{"sizeBytes":86440,"sha256":"ab12","fetched":true},)"
             R"("checkpoint":{"note":"begins anew"}})");
  ASSERT_TRUE(report.model);
  EXPECT_EQ(report.model->size_bytes, 86440);
  EXPECT_EQ(report.model->sha256, "ab12");
  EXPECT_TRUE(report.model->is_fetched);
  EXPECT_EQ(report.checkpoint_note, "begins anew");
  EXPECT_FALSE(Report(kTraining).model);
}

TEST(CoordinatorReportTest, OtherTextIsRefused) {
  for (const char* text : {"", "{}", "[]", "no such page", R"({"phase": 3, "step": "x"})"})
    EXPECT_FALSE(ParseCoordinatorReport(SmallJob(), text).ok()) << text;
}

TEST(CoordinatorReportTest, AFailingCheckpointDegradesTheJob) {
  Observation seen = AllTraining();
  seen.coordinator->checkpoint_trouble = "volume is full: /paceline/checkpoint";
  const Plan plan = PlanJob(SmallJob(), seen, At(10));
  ASSERT_TRUE(Holds(plan.status, ConditionType::kDegraded));
  const Condition& degraded = *FindCondition(plan.status, ConditionType::kDegraded);
  EXPECT_EQ(degraded.reason, "CheckpointFailing");
  EXPECT_NE(degraded.message.find("/paceline/checkpoint"), std::string::npos);
}

TEST(CoordinatorReportTest, APatternThatFitsNothingDegradesTheJob) {
  Observation seen = AllTraining();
  seen.coordinator->idle_patterns =
      Report(R"({"phase":"training","step":3,"workers":[],"idlePatterns":["*.bais","x?"]})")
          .idle_patterns;
  const Plan plan = PlanJob(SmallJob(), seen, At(10));
  ASSERT_TRUE(Holds(plan.status, ConditionType::kDegraded));
  const Condition& degraded = *FindCondition(plan.status, ConditionType::kDegraded);
  EXPECT_EQ(degraded.reason, "GroupUnmatched");
  EXPECT_EQ(degraded.message,
            "no parameter of the model fits spec.training.parameterGroups' *.bais, x?");
}

TEST(CoordinatorReportTest, WorkersThatLeaveWhatTheirPodsHoldUnusedDegradeTheJob) {
  TrainingJob job = SmallJob();
  job.spec.workers.pod_template =
      ParseYaml("spec: {containers: [{name: worker, resources: {claims: [{name: gpu}]}}]}").root;
  Observation seen = AllTraining();
  seen.coordinator->workers = Report(R"({"phase": "training", "step": 3, "workers": [
               {"index": 0, "isMember": true, "device": "CPU"},
               {"index": 1, "isMember": true, "device": "CUDA"},
               {"index": 2, "isMember": true, "device": "CPU"}]})")
                                  .workers;
  const Plan plan = PlanJob(job, seen, At(10));
  const Condition& degraded = *FindCondition(plan.status, ConditionType::kDegraded);
  EXPECT_EQ(degraded.status, ConditionStatus::kTrue);
  EXPECT_EQ(degraded.reason, "DeviceUnused");
  EXPECT_EQ(degraded.message,
            "spec.workers.template has resource claim gpu, and no GPU that CUDA can use was found "
            "there (the logs say what is missing): computed on the CPU by digits-worker-0, "
            "digits-worker-2; workers.device: CPU says that this is meant");
  const Condition& created = *FindCondition(plan.status, ConditionType::kCreated);
  EXPECT_NE(created.message.find("has resource claim gpu: computed on it if"), std::string::npos);
  // Told once, and over once it is used or said to be meant.
  seen.status = plan.status;
  EXPECT_TRUE(Events(PlanJob(job, seen, At(11))).empty());
  for (WorkerStatus& worker : seen.coordinator->workers) worker.device = "CUDA";
  EXPECT_FALSE(Holds(PlanJob(job, seen, At(12)).status, ConditionType::kDegraded));
  for (WorkerStatus& worker : seen.coordinator->workers) worker.device = "CPU";
  job.spec.workers.device = Device::kCpu;
  EXPECT_FALSE(Holds(PlanJob(job, seen, At(13)).status, ConditionType::kDegraded));
}

TEST(CoordinatorReportTest, AModelThatIsNotWrittenDegradesTheJobAndIsTold) {
  const CoordinatorReport report =
      Report(R"({"phase": "finishing", "step": 3, "workers": [], "modelProblem": "disk full"})");
  EXPECT_EQ(report.model_trouble, "disk full");
  Observation seen = AllTraining();
  seen.coordinator->checkpoint_trouble = "volume is full";
  seen.status = PlanJob(SmallJob(), seen, At(10)).status;
  seen.coordinator->model_trouble = report.model_trouble;
  const Plan plan = PlanJob(SmallJob(), seen, At(11));
  const std::string words =
      "training is over; the final model cannot be written, is kept and tried again: disk full";
  EXPECT_EQ(FindCondition(plan.status, ConditionType::kDegraded)->reason, "ModelNotWritten");
  ASSERT_EQ(plan.events.size(), 1u);
  EXPECT_EQ(plan.events[0].message, words);
  seen.status = plan.status;
  EXPECT_TRUE(PlanJob(SmallJob(), seen, At(12)).events.empty()) << "told once";
}

}  // namespace
}  // namespace paceline::job
