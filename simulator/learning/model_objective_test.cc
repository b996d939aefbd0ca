#include "simulator/learning/model_objective.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/testing/files.h"
#include "lib/learn/testing/scripts.h"
#include "simulator/driver/testing.h"

namespace paceline::simulator {
namespace {

using ::testing::HasSubstr;

const std::string kDigits = InSource("deploy/samples/digits/");

ModelFiles Digits() {
  return {.model = InSource("simulator/scenarios/digits/mlp.pt"),
          .train = kDigits + "train.safetensors",
          .loss = "CrossEntropy"};
}

std::unique_ptr<ModelObjective> Opened(const ModelFiles& files) {
  auto objective = ModelObjective::Open(files);
  EXPECT_TRUE(objective.ok()) << objective.status();
  return objective.ok() ? *std::move(objective) : nullptr;
}

// What lib/learn itself makes of them.
struct Expected {
  double loss = 0;
  Values gradient;
};
Expected ByLearn(const ModelFiles& files, const Values& at, const std::vector<EpochRange>& samples,
                 uint64_t seed) {
  auto training = learn::Training::Create({.model_path = files.model,
                                           .loss = files.loss,
                                           .train = {.path = files.train},
                                           .seed = seed});
  EXPECT_TRUE(training.ok()) << training.status();
  auto* const values = reinterpret_cast<float*>((*training)->parameters().data());
  for (size_t i = 0; i < at.size(); ++i) values[i] = static_cast<float>(at[i]);
  Expected expected;
  expected.loss = (*training)->Step(samples)->loss;
  const auto push = std::as_const(**training).push();
  const auto* const gradient = reinterpret_cast<const float*>(push.data());
  expected.gradient.assign(gradient, gradient + at.size());
  return expected;
}

TEST(ModelObjective, GradientsAreThoseOfTheSamplesAndSoIsWhatIsTold) {
  const auto objective = Opened(Digits());
  EXPECT_EQ(objective->parameters(), 2410u);
  EXPECT_EQ(objective->train_samples(), 1437u);
  RandomStream chance(1, "gradient");
  const std::vector<EpochRange> samples = {{0, 1400, 1437}, {1, 0, 11}};
  for (const uint64_t seed : {3, 4, 3}) {
    Values at = objective->Begin(seed), gradient;
    for (double& value : at) value *= 1.5;
    const double loss = objective->Gradient(at, samples, chance, gradient);
    const Expected expected = ByLearn(Digits(), at, samples, seed);
    EXPECT_EQ(loss, expected.loss);
    EXPECT_EQ(gradient, expected.gradient);
  }
  EXPECT_TRUE(objective->status().ok());
}

// An epoch in one step has the loss of the whole set; of other samples it is another one.
TEST(ModelObjective, TheLossIsThatOfAllSamplesOrOfThoseThatAreNamed) {
  const auto objective = Opened(Digits());
  const Values at = objective->Begin(1);
  const Expected whole = ByLearn(Digits(), at, {{0, 0, 1437}}, 1);
  EXPECT_NEAR(objective->Loss(at), whole.loss, 1e-6);
  ModelFiles judged = Digits();
  judged.eval = kDigits + "test.safetensors";
  ModelFiles held_out = Digits();
  held_out.train = judged.eval;
  const auto other = Opened(judged);
  EXPECT_NEAR(other->Loss(at), ByLearn(held_out, at, {{0, 0, 360}}, 1).loss, 1e-6);
  EXPECT_NE(other->Loss(at), objective->Loss(at));
}

// A job's model, as a worker opens it.
learn::TrainingOptions BuiltInMlp() {
  learn::TrainingOptions options;
  options.built_in = {
      .kind = learn::BuiltInKind::kMlp, .input_shape = {8, 8}, .outputs = 10, .hidden = {8}};
  options.loss = "CrossEntropy";
  options.train.path = kDigits + "train.safetensors";
  options.eval = {.path = kDigits + "test.safetensors"};
  options.seed = 17;
  options.prefetch_batches = 2;
  return options;
}

TEST(ModelObjective, AJobsModelIsJudgedByWhatItsTargetIsOf) {
  const learn::TrainingOptions options = BuiltInMlp();
  const auto by_loss = ModelObjective::Open(options, JudgedBy::kLoss);
  const auto by_error = ModelObjective::Open(options, JudgedBy::kError);
  ASSERT_TRUE(by_loss.ok() && by_error.ok()) << by_error.status();
  const Values at = (*by_loss)->Begin(17);
  const learn::Evaluation expected = *(*learn::Training::Create(options))->Evaluate();
  EXPECT_NEAR((*by_loss)->Loss(at), expected.loss, 1e-6);
  EXPECT_EQ((*by_error)->Loss(at), 1 - *expected.accuracy);
  // What is not finite is no model any more, though 1 - accuracy still is a number.
  EXPECT_TRUE(std::isnan((*by_error)->Loss(Values(at.size(), std::nan("")))));
}

TEST(ModelObjective, ABuiltInModelsWeightsAreTheSeeds) {
  const auto objective = ModelObjective::Open(BuiltInMlp(), JudgedBy::kError);
  ASSERT_TRUE(objective.ok()) << objective.status();
  const Values first = (*objective)->Begin(1), second = (*objective)->Begin(2);
  EXPECT_NE(first, second);
  EXPECT_EQ((*objective)->Begin(1), first);
  learn::TrainingOptions options = BuiltInMlp();
  options.seed = 2;
  const auto training = learn::Training::Create(options);
  const auto values = (*training)->parameters();
  const auto* const floats = reinterpret_cast<const float*>(values.data());
  EXPECT_EQ(second, Values(floats, floats + second.size()));
}

TEST(ModelObjective, WithoutAHeldOutSetNothingIsJudged) {
  learn::TrainingOptions options = BuiltInMlp();
  options.eval.reset();
  EXPECT_THAT(Message(ModelObjective::Open(options, JudgedBy::kError).status()),
              HasSubstr("no held-out set"));
}

TEST(ModelObjective, WhatCannotBeSimulatedIsRefused) {
  ModelFiles files = Digits();
  files.loss = "";
  EXPECT_THAT(Message(ModelObjective::Open(files).status()), HasSubstr("loss"));
  files = Digits();
  files.train = files.model;
  EXPECT_THAT(Message(ModelObjective::Open(files).status()), HasSubstr("mlp.pt"));
  const learn::testing::TestFolder folder;
  files = Digits();
  files.model = folder.Path("buffered.pt");
  learn::testing::SaveScript(
      files.model,
      {{.name = "weight", .shape = {64, 10}, .value = 0.1},
       {.name = "mean", .kind = learn::testing::ScriptKind::kBuffer, .shape = {64}}},
      "def forward(self, x):\n"
      "    return (x.flatten(1) - self.mean) @ self.weight\n");
  EXPECT_THAT(Message(ModelObjective::Open(files).status()), HasSubstr("has the buffer mean"));
}

ClusterOptions LifeOf(ModelObjective& objective, const std::string& policy,
                      const std::vector<double>& speeds) {
  ClusterOptions options = testing::Of(policy, speeds);
  options.model = &objective;
  options.train_samples = objective.train_samples();
  options.learning_rate = 0.5;
  return options;
}

// The mean over the workers' samples: the very steps of one that has them all.
TEST(ModelObjective, ALifeOfBspIsGradientDescent) {
  const auto objective = Opened(Digits());
  ClusterOptions options = LifeOf(*objective, "BSP", {1, 1, 0.5, 2});
  options.policy.global_batch_size = 40;
  options.momentum = 0.5;
  options.steps_max = 60;
  std::vector<EpochRange> samples;
  options.counted = [&samples](const protocol::SampleRange& range) {
    samples.push_back({range.epoch, range.begin, range.end});
  };
  const Life life = testing::Lived(options);
  ASSERT_EQ(life.versions.size(), 60u);
  EXPECT_LT(life.versions.back().loss, 1.2);

  RandomStream chance(1, "none");
  Values at = objective->Begin(options.seed), gradient;
  MomentumStep step(0.5);
  size_t next = 0;
  for (const VersionFacts& version : life.versions) {
    std::vector<EpochRange> of_step;
    for (uint64_t count = 0; count < 40; ++next) {
      of_step.push_back(samples[next]);
      count += samples[next].end - samples[next].begin;
    }
    objective->Gradient(at, of_step, chance, gradient);
    step.Apply(gradient, 0.5, at);
    ASSERT_NEAR(version.loss, objective->Loss(at), 1e-4);
  }
}

// Local copies and eager ones learn, too; and the lives before leave no trace in the next one.
TEST(ModelObjective, EqualOptionsGiveEqualLivesUnderEveryPacing) {
  const auto objective = Opened(Digits()), another = Opened(Digits());
  for (const char* policy :
       {"BSP", "BackupWorkers backup=1", "ASP", "WBSP", "PSPlus staleness=1"}) {
    SCOPED_TRACE(policy);
    const auto losses = [&](ModelObjective& with, uint64_t seed) {
      ClusterOptions options = LifeOf(with, policy, {1, 1, 0.5, 2});
      for (ComputeModel& worker : options.workers) worker.jitter = ShiftedExponential{0.5, 0.5};
      options.seed = seed;
      options.steps_max = 100;
      std::vector<double> found;
      for (const VersionFacts& version : testing::Lived(options).versions)
        found.push_back(version.loss);
      return found;
    };
    const std::vector<double> first = losses(*objective, 1);
    EXPECT_LT(first.back(), 2.2);
    EXPECT_NE(losses(*objective, 2), first);
    EXPECT_EQ(losses(*objective, 1), first);
    EXPECT_EQ(losses(*another, 1), first);
  }
}

}  // namespace
}  // namespace paceline::simulator
