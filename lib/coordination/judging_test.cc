#include "lib/coordination/judging.h"

#include <limits>

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

protocol::Evaluated Result(uint64_t version, double loss) { return {Version(version), loss}; }

TEST(JudgingTest, AMeasureIsFoundByItsName) {
  protocol::Evaluated result = Result(1, 0.5);
  result.accuracy_from = "outputs of shape [7]";
  result.metrics = {{"f1", 0.25}, {"recall", 0.75}};
  EXPECT_EQ(ValueOf({"Loss", false}, result), 0.5);
  EXPECT_EQ(ValueOf({"f1", true}, result), 0.25);
  EXPECT_EQ(ValueOf({"Accuracy", true}, result), std::nullopt);
  EXPECT_EQ(WhyNoValue({"Accuracy", true}, result), "there is no accuracy: outputs of shape [7]");
  EXPECT_EQ(WhyNoValue({"f2", true}, result), "there is no metric f2, only f1, recall");
  result.metrics.clear();
  EXPECT_EQ(WhyNoValue({"f2", true}, result),
            "there is no metric f2, and no other of the model's own");
  result.accuracy = 0.9;
  EXPECT_EQ(ValueOf({"Accuracy", true}, result), 0.9);
}

TEST(JudgingTest, BetterIsByMoreThanTheLeastGainAndFinite) {
  JudgingOptions options{.least_gain = 0.1};
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(IsBetter(options, 5, std::nullopt));
  EXPECT_FALSE(IsBetter(options, infinite, std::nullopt));
  EXPECT_FALSE(IsBetter(options, std::numeric_limits<double>::quiet_NaN(), std::nullopt));
  const Best best{Version(1), 1.0};
  EXPECT_TRUE(IsBetter(options, 0.875, best));
  EXPECT_FALSE(IsBetter(options, 0.95, best));
  EXPECT_FALSE(IsBetter(options, -infinite, best));
  EXPECT_FALSE(IsBetter({}, 1.0, best));  // As good is not better.
  options.measure.is_higher_better = true;
  EXPECT_FALSE(IsBetter(options, 0.875, best));
  EXPECT_FALSE(IsBetter(options, 1.05, best));
  EXPECT_TRUE(IsBetter(options, 1.125, best));
  EXPECT_FALSE(IsBetter({.measure = {"Loss", true}}, 1.0, best));
}

// torch.optim.lr_scheduler.ReduceLROnPlateau(SGD at 0.8, mode="min", factor=0.5, patience=2,
// threshold=0.01, threshold_mode="abs", min_lr=0.15) of PyTorch 2.11, after each step(loss).
TEST(JudgingTest, RatesAreThoseOfPyTorchsPlateau) {
  const double losses[] = {1.0, 0.9, 0.895, 0.9,   0.92, 0.7, 0.71, 0.70, 0.695, 0.699,
                           0.8, 0.9, 0.6,   0.595, 0.6,  0.6, 0.6,  0.6,  0.6};
  const double rates[] = {0.8, 0.8,  0.8,  0.8,  0.4,  0.4,  0.4,  0.4,  0.2, 0.2,
                          0.2, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15};
  const JudgingOptions options{.least_gain = 0.01,
                               .plateau = JudgingOptions::Plateau{0.5, 2, 0.15}};
  Judged judged;
  for (size_t i = 0; i < std::size(losses); ++i) {
    judged.See(options, Result(i + 1, losses[i]));
    EXPECT_DOUBLE_EQ(judged.Cut(options.plateau, 0.8), rates[i]) << i;
  }
  EXPECT_EQ(judged.best, (Best{Version(13), 0.6}));
  // A warm-up begins below the least rate.
  EXPECT_DOUBLE_EQ(judged.Cut(options.plateau, 0.05), 0.05);
  EXPECT_DOUBLE_EQ(judged.Cut(std::nullopt, 0.8), 0.8);
}

TEST(JudgingTest, AResultWithoutTheNumberCountsForNothing) {
  const JudgingOptions options{.measure = {"f1", true}, .patience = 1};
  Judged judged;
  judged.See(options, Result(1, 0.5));
  EXPECT_EQ(judged, Judged());
}

}  // namespace
}  // namespace paceline::coordination
