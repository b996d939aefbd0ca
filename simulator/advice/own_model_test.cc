#include "simulator/advice/own_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/manifest/load.h"

namespace paceline::simulator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kJob = R"(
apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  model: {torchScript: digits/cnn.pt, loss: CrossEntropy}
  data: {train: train.safetensors, eval: test.safetensors}
  training:
    globalBatchSize: 64
    optimizer: {type: SGD, sgd: {momentum: 0.9}}
    learningRate: {base: 0.05, warmupSteps: 20}
    stop: {maxEpochs: 40, target: {metric: Accuracy, value: 0.97}}
  workers: {replicas: 4}
  evaluator: {periodSeconds: 500ms}
)";

StatusOr<ModelSetting> SettingWith(const std::vector<std::string>& overrides) {
  const job::Decoded decoded = job::LoadJob(kJob, overrides, job::Capabilities());
  EXPECT_TRUE(decoded.errors.empty()) << ToString(decoded.errors.front());
  return ModelSettingOf(decoded.job);
}

std::string WhyNot(const std::vector<std::string>& overrides) {
  const StatusOr<ModelSetting> setting = SettingWith(overrides);
  EXPECT_FALSE(setting.ok());
  return Message(setting.status());
}

TEST(OwnModel, IsTrainedAsTheJobSaysUntilItsTarget) {
  const ModelSetting setting = *SettingWith({});
  EXPECT_EQ(setting.name, "digits/cnn.pt");
  EXPECT_EQ(setting.until, "accuracy 0.97");
  EXPECT_TRUE(setting.is_judged_by_error);
  EXPECT_EQ(setting.target_loss, 1 - 0.97);
  EXPECT_EQ(setting.look_seconds, 0.5);
  EXPECT_EQ(setting.rate, 0.05);
  EXPECT_EQ(setting.momentum, 0.9);
  EXPECT_EQ(setting.schedule.warmup_steps, 20u);
  EXPECT_EQ(setting.epochs_max, 40u);
  EXPECT_THAT(setting.not_simulated, IsEmpty());
}

// Else a life would never end: nothing is less than no error.
TEST(OwnModel, AnAccuracyOfOneCanBeReached) {
  const double target = SettingWith({"spec.training.stop.target.value=1"})->target_loss;
  EXPECT_GT(target, 0);
  EXPECT_LT(target, 1e-9);
}

TEST(OwnModel, ALossIsItsOwnTarget) {
  const ModelSetting setting =
      *SettingWith({"spec.training.stop.target={metric: Loss, value: 0.25}"});
  EXPECT_FALSE(setting.is_judged_by_error);
  EXPECT_EQ(setting.target_loss, 0.25);
  EXPECT_EQ(setting.until, "loss 0.25");
}

TEST(OwnModel, WhyAJobsIsNotTriedIsSaid) {
  EXPECT_THAT(WhyNot({"spec.training.stop.target=null"}),
              HasSubstr("the job has no target: spec.training.stop.target with metric Accuracy"));
  EXPECT_THAT(WhyNot({"spec.training.stop.target={metric: f1, value: 0.9}"}),
              HasSubstr("its target is of metric f1"));
  EXPECT_THAT(WhyNot({"spec.training.optimizer={type: AdamW}"}), HasSubstr("AdamW is not simul"));
  EXPECT_THAT(WhyNot({"spec.training.learningRate.schedule=ReduceOnPlateau"}),
              HasSubstr("ReduceOnPlateau"));
  EXPECT_THAT(WhyNot({"spec.training.precision=Float16"}), HasSubstr("Float16"));
  EXPECT_THAT(WhyNot({"spec.model=null", "spec.data=null", "spec.workers.command=[train]"}),
              HasSubstr("a command of their own"));
}

TEST(OwnModel, WhatOfAJobIsNotSimulatedIsSaid) {
  EXPECT_THAT(SettingWith({"spec.training.optimizer.sgd={momentum: 0.9, weightDecay: 0.0005}",
                           "spec.training.ema={decay: 0.9}", "spec.training.gradientClipNorm=1"})
                  ->not_simulated,
              ElementsAre("weight decay 0.0005", "gradientClipNorm 1",
                          "the moving average of the weights"));
}

TEST(OwnModel, ABuiltInOneHasAName) {
  EXPECT_EQ(SettingWith({"spec.model={builtIn: Mlp, inputShape: [1, 8, 8], classes: 10}"})->name,
            "the built-in Mlp");
}

TEST(OwnModel, WhatHangsOnTheSizeOfTheTrainingSetIsFilledIn) {
  OwnModel model{.setting = *SettingWith({"spec.training.learningRate.schedule=Cosine"}),
                 .train_samples = 1000};
  ClusterOptions cluster;
  cluster.seconds_max = 7;
  const ClusterOptions with = ClusterWith(model, cluster, 100);
  EXPECT_EQ(with.schedule.kind, optim::ScheduleKind::kCosine);
  EXPECT_EQ(with.schedule.total_samples, 40'000u);
  EXPECT_EQ(with.train_samples, 1000u);
  EXPECT_EQ(with.epochs_max, 40u);
  EXPECT_EQ(with.seconds_max, 0) << "its epochs end it";
  EXPECT_EQ(with.momentum, 0.9);
  EXPECT_EQ(with.learning_rate, 0.05);
  model.setting = *SettingWith(
      {"spec.training.learningRate.schedule=Step", "spec.training.learningRate.stepEpochs=3"});
  EXPECT_EQ(ClusterWith(model, cluster, 100).schedule.step_samples, 3000u);
  model.setting = *SettingWith({"spec.training.stop={maxSteps: 100, target: {value: 0.9}}",
                                "spec.training.learningRate.schedule=Cosine"});
  EXPECT_EQ(ClusterWith(model, cluster, 100).schedule.total_samples, 6400u);
}

// Of short runs an evaluator that looks seldom says little.
TEST(OwnModel, IsLookedAtAsOftenAsTheJobsEvaluatorDoesOrOftener) {
  const OwnModel model{.setting = *SettingWith({})};
  EXPECT_EQ(ClusterWith(model, {}, 100).loss_every_seconds, 0.5);
  EXPECT_EQ(ClusterWith(model, {}, 10).loss_every_seconds, 0.2);
}

}  // namespace
}  // namespace paceline::simulator
