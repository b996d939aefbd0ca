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
  StatusOr<Trials> trials = Try(options, options.policy, {.seeds = 3});
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

// Counts what is asked of a quadratic, in the place of which it stands.
class Counted final : public Objective {
 public:
  Values Begin(uint64_t seed) override {
    ++lives;
    return inner_.Begin(seed);
  }
  double Loss(const Values& at) override { return inner_.Loss(at); }
  double Gradient(const Values& at, std::span<const EpochRange> samples, RandomStream& chance,
                  Values& gradient) override {
    ++gradients;
    return inner_.Gradient(at, samples, chance, gradient);
  }
  const Status& status() const override { return inner_.status(); }

  uint64_t lives = 0, gradients = 0;

 private:
  Quadratic inner_{{.noise = 0.5}};
};

TEST(Trials, WhereLivesAreDearFewOfThemLookForARate) {
  Counted all, few;
  ClusterOptions options = ClusterAt(0.05);
  options.model = &all;
  const Trials dear = *Try(options, options.policy, {.seeds = 9});
  options.model = &few;
  const Trials cheap =
      *Try(options, options.policy, {.seeds = 9, .seeds_searching = 3, .give_up_times = 1.5});
  ASSERT_EQ(cheap.equal.size(), 9u);
  ASSERT_EQ(cheap.best.size(), 9u);
  EXPECT_GE(cheap.factor, 4);
  EXPECT_LT(MedianSeconds(cheap.best), MedianSeconds(cheap.equal) / 3);
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(cheap.equal[i].seconds, dear.equal[i].seconds);
  EXPECT_LT(few.lives, all.lives * 2 / 3);
  EXPECT_LT(few.gradients, all.gradients * 4 / 5);
}

// Goes as far as the rate says; with other seeds than the first three, nowhere after a large step.
class Moody final : public Objective {
 public:
  Values Begin(uint64_t seed) override {
    is_patient_ = seed <= 3;
    last_ = 1;
    is_stuck_ = false;
    return {1};
  }
  double Loss(const Values& at) override { return at[0]; }
  double Gradient(const Values& at, std::span<const EpochRange>, RandomStream&,
                  Values& gradient) override {
    if (!is_patient_ && last_ - at[0] > 0.007) is_stuck_ = true;
    last_ = at[0];
    gradient = {is_stuck_ ? 0 : 0.1};
    return 0;
  }
  const Status& status() const override { return status_; }

 private:
  bool is_patient_ = false, is_stuck_ = false;
  double last_ = 1;
  const Status status_ = OkStatus();
};

TEST(Trials, WhatWasFoundWithFewSeedsCountsOnlyIfItIsBetterWithAll) {
  Moody moody;
  ClusterOptions options = testing::Of("BSP", {1});
  options.model = &moody;
  options.learning_rate = 0.05;
  options.target_loss = 0.5;
  options.steps_max = 200;
  const auto tried = [&](uint32_t seeds) {
    return *Try(options, options.policy,
                {.seeds = seeds, .seeds_searching = 3, .give_up_times = 1.5});
  };
  EXPECT_GT(tried(3).factor, 1);
  const Trials all = tried(9);
  EXPECT_EQ(all.factor, 1);
  ASSERT_EQ(all.best.size(), 9u);
  EXPECT_EQ(all.best.back().seconds, all.equal.back().seconds);
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
