#include "simulator/advice/setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/advice/testing.h"

namespace paceline::simulator {
namespace {

using ::testing::HasSubstr;

Recording RecordingOf(const std::string& policy) {
  Recording recording{.policy = policy, .batch = 20, .learning_rate = 0.125};
  recording.workers.resize(2);
  return recording;
}

Setting Found(const std::string& job, const std::string& policy = "BSP batch=20 workers=2") {
  const StatusOr<Setting> setting = SettingOf(job, RecordingOf(policy));
  EXPECT_TRUE(setting.ok()) << setting.status();
  return setting.ok() ? *setting : Setting();
}

TEST(Setting, RateAndMomentumAreTheJobs) {
  const Setting setting = Found(testing::JobOf(2, R"({"type": "SGD", "sgd": {"momentum": 0.5}})"));
  EXPECT_TRUE(setting.is_job_known);
  EXPECT_EQ(setting.optimizer, "SGD");
  EXPECT_EQ(setting.momentum, 0.5);
  EXPECT_EQ(setting.rate, 0.25);
  EXPECT_EQ(setting.simulated_rate, 0.25);
}

TEST(Setting, ARateThatTheObjectiveCannotBearIsTheNearestThatItCan) {
  // A rate of 0.25 goes 25 times as far with such momentum.
  EXPECT_NEAR(Found(testing::JobOf(2, R"({"sgd": {"momentum": 0.99}})")).simulated_rate,
              kMostReach * 0.01, 1e-12);
  Recording slow = RecordingOf("BSP batch=20 workers=2");
  slow.learning_rate = 1e-6;
  EXPECT_NEAR(SettingOf("", slow).value().simulated_rate, kLeastReach, 1e-12);
}

TEST(Setting, OtherOptimizersHaveMomentumButNoRateInTheObjectivesUnits) {
  const Setting setting = Found(testing::JobOf(2, R"({"type": "AdamW"})"));
  EXPECT_EQ(setting.optimizer, "AdamW");
  EXPECT_EQ(setting.momentum, 0.9);
  EXPECT_NEAR(setting.simulated_rate, kUsualReach * 0.1, 1e-12);
  EXPECT_EQ(Found(testing::JobOf(2, R"({"type": "Adagrad"})")).momentum, 0);
}

TEST(Setting, ATraceAloneSaysTheRateAndUnderDbwTheMomentum) {
  const Setting bsp = Found("");
  EXPECT_FALSE(bsp.is_job_known);
  EXPECT_EQ(bsp.optimizer, "");
  EXPECT_EQ(bsp.rate, 0.125);
  EXPECT_EQ(bsp.momentum, 0);
  sync::PolicySpec dbw = *sync::ParsePolicySpec("DBW batch=20 workers=2");
  dbw.dbw.momentum = 0.5;
  EXPECT_EQ(Found("", sync::FormatPolicySpec(dbw)).momentum, 0.5);
}

TEST(Setting, TheWarmUpIsTheJobs) {
  EXPECT_EQ(Found(testing::WithWarmUp(testing::JobOf(2, R"({})"), 7)).warmup_steps, 7);
  EXPECT_EQ(Found(testing::JobOf(2, R"({})")).warmup_steps, 0);
}

TEST(Setting, AJobThatCannotRunIsRefused) {
  const StatusOr<Setting> setting =
      SettingOf(R"({"kind": "Pod"})", RecordingOf("BSP batch=20 workers=2"));
  ASSERT_FALSE(setting.ok());
  EXPECT_THAT(Message(setting.status()), HasSubstr("its job cannot run: "));
}

}  // namespace
}  // namespace paceline::simulator
