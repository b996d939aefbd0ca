#include "simulator/advice/trials.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "simulator/advice/testing.h"

namespace paceline::simulator {
namespace {

ClusterOptions ClusterAt(double rate) {
  ClusterOptions options = testing::Of("BSP", {1, 0.5});
  for (ComputeModel& worker : options.workers) worker.jitter = Lognormal{1, 0.2};
  options.objective.noise = 0.5;
  options.target_loss = 0.05;
  options.steps_max = 3000;
  options.learning_rate = rate;
  return options;
}

Trials Tried(const ClusterOptions& options) {
  StatusOr<Trials> trials = Try(options, options.policy, 3);
  EXPECT_TRUE(trials.ok()) << trials.status();
  return trials.ok() ? *std::move(trials) : Trials();
}

TEST(Trials, ARateThatIsTooLowIsRaised) {
  const Trials trials = Tried(ClusterAt(0.05));
  EXPECT_GE(trials.factor, 4);
  EXPECT_LT(MedianSeconds(trials.best), MedianSeconds(trials.equal) / 3);
}

TEST(Trials, ARateThatFailsIsLowered) {
  const Trials trials = Tried(ClusterAt(3));
  EXPECT_TRUE(std::isinf(MedianSeconds(trials.equal)));
  EXPECT_LT(trials.factor, 1);
  EXPECT_TRUE(std::isfinite(MedianSeconds(trials.best)));
}

// The job's rate, once it is the best one, stays.
TEST(Trials, TheBestRateIsKept) {
  const Trials found = Tried(ClusterAt(0.05));
  EXPECT_EQ(Tried(ClusterAt(0.05 * found.factor)).factor, 1);
}

TEST(Trials, ARateAtWhichALifeFailsIsNoBetterForBeingFaster) {
  const Outcome slow{Ending::kTarget, 100, 1}, fast{Ending::kTarget, 10, 1};
  const Outcome failed{Ending::kDiverged, 1, 1};
  EXPECT_TRUE(IsBetter({slow, slow, slow}, {fast, fast, failed}));
  EXPECT_FALSE(IsBetter({fast, fast, failed}, {slow, slow, slow}));
  EXPECT_TRUE(IsBetter({fast, fast, slow}, {slow, slow, fast}));
  EXPECT_FALSE(IsBetter({slow}, {slow}));
}

TEST(Trials, EqualTrialsAreEqualAndSeedsAreNot) {
  const Trials once = Tried(ClusterAt(0.1)), again = Tried(ClusterAt(0.1));
  ASSERT_EQ(once.best.size(), again.best.size());
  for (size_t i = 0; i < once.best.size(); ++i)
    EXPECT_EQ(once.best[i].seconds, again.best[i].seconds);
  EXPECT_NE(once.best[0].seconds, once.best[1].seconds);
  // The same delays at whatever rate: a step is as long.
  EXPECT_NEAR(once.best[0].step_seconds, once.equal[0].step_seconds,
              0.1 * once.equal[0].step_seconds);
}

TEST(Trials, WhoDoesNotReachTheGoalTakesForEver) {
  const Outcome reached{Ending::kTarget, 10, 1}, failed{Ending::kSeconds, 5, 1};
  EXPECT_EQ(MedianSeconds({reached, failed, reached}), 10);
  EXPECT_EQ(MedianSeconds({reached, failed, failed}), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace paceline::simulator
