// What held-out numbers decide: early stopping, the learning rate, which version becomes the model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> kJudgedOften = {"spec.evaluator={periodSeconds: 50ms}",
                                               "spec.workers.replicas=2"};

std::vector<std::string> With(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), kJudgedOften.begin(), kJudgedOften.end());
  return Sets(Paced(0.0002, std::move(overrides)));
}

std::string ReasonOf(const Ended& ended) { return ended.last_state["finished"]["reason"]; }

// A rate of nothing: no version is better than the first one that is judged.
TEST(JudgedTest, PatienceEndsTrainingWithoutAnyOtherStop) {
  const TestFolder folder;
  const Ended ended = RunToEnd(
      folder, SampleManifest(),
      With({"spec.training.stop={patience: 3}", "spec.training.learningRate={base: 1e-30}"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ReasonOf(ended), AllOf(HasSubstr("stopped early: no better Loss than"),
                                     HasSubstr("in 3 evaluations")));
}

// At a rate that leads away from it after the first steps.
TEST(JudgedTest, TheBestVersionIsTheModelThoughTrainingWentOn) {
  const TestFolder folder;
  const Ended ended = RunToEnd(
      folder, SampleManifest(),
      With({"spec.training.stop={maxEpochs: 12}", "spec.training.learningRate={base: 0.9}",
            "spec.training.optimizer={type: SGD, sgd: {momentum: 0.9}}", "spec.output.keep=Best"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const auto& judged = ended.last_state["judged"];
  ASSERT_TRUE(judged.contains("best")) << ended.last_state;
  EXPECT_EQ(judged["kept"], judged["best"]["version"]);
  EXPECT_EQ(ended.last_state["finishing"]["modelVersion"], judged["kept"]) << ended.last_state;
  EXPECT_THAT(ReasonOf(ended), HasSubstr(", the best: Loss "));
  EXPECT_EQ(ended.last_state["evaluation"]["version"], judged["kept"]);
  EXPECT_EQ(ended.summary["loss"], judged["best"]["value"]);
}

TEST(JudgedTest, TheRateIsCutWhereNothingGetsBetter) {
  const TestFolder folder;
  const Ended ended = RunToEnd(
      folder, SampleManifest(),
      With({"spec.training.stop={maxEpochs: 6}",
            "spec.training.learningRate={base: 1e-20, schedule: ReduceOnPlateau, final: 1e-23, "
            "plateau: {factor: 0.1, patience: 1}}"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_GE(ended.last_state["judged"]["rateCuts"].get<int>(), 1) << ended.last_state;
}

}  // namespace
}  // namespace paceline::integration
