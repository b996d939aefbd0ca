#include "lib/sync/schemes/auto/judgement.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/schemes/auto/step_times.h"
#include "lib/sync/schemes/estimates/testing.h"

namespace paceline::sync {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::NoiseOf;

constexpr AutoChoice kAll{};
constexpr AutoChoice kAsync{Way::kAsync, 2};

AutoChoice Barrier(uint32_t k) { return {Way::kBarrier, k}; }

class OneSlow : public ::testing::Test {
 protected:
  OneSlow() {
    fast_.Add(1);
    slow_.Add(4);
    workers_ = std::vector<ShadowWorker>(7, {&fast_});
    workers_.push_back({&slow_});
  }
  Estimates Estimated(const NoiseScale& noise, double cost = 0,
                      const AsyncTerms& async = {}) const {
    return Estimate(workers_, {.communication = cost}, async, noise);
  }

  StepTimes fast_, slow_;
  std::vector<ShadowWorker> workers_;
};

TEST_F(OneSlow, IsNotWaitedFor) {
  const Estimates estimates = Estimated(NoiseOf(1, 1));
  EXPECT_THAT(estimates.ks, ElementsAre(2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(estimates.ProgressOf(Barrier(7)), DoubleNear(.46609, 1e-5));
  EXPECT_THAT(estimates.ProgressOf(Barrier(6)), DoubleNear(.42582, 1e-5));
  EXPECT_THAT(estimates.ProgressOf(kAll), DoubleNear(.125, 1e-9));
  EXPECT_THAT(estimates.ProgressOf(kAsync), DoubleNear(.453125, 1e-9));
  EXPECT_EQ(Best(estimates, kAll), Barrier(7));
}

TEST_F(OneSlow, WhereGradientsAreNoiseABarrierIsNotWorthIt) {
  const Estimates estimates = Estimated(NoiseOf(0, 1));
  EXPECT_THAT(estimates.ProgressOf(Barrier(7)), DoubleNear(.43541, 1e-5));
  EXPECT_EQ(Best(estimates, kAll), Barrier(7)) << "no barrier is 4.1 % better";
  EXPECT_EQ(Best(estimates, kAsync), kAsync);
}

TEST_F(OneSlow, WhatIsInForceHasToBeBeatenByAMargin) {
  const Estimates estimates = Estimated(NoiseOf(1, 1));
  EXPECT_EQ(Best(estimates, Barrier(6)), Barrier(6)) << "7 is 9.5 % better";
  EXPECT_EQ(Best(estimates, Barrier(5)), Barrier(7)) << "7 is 24 % better";
}

// What is worth no more without a barrier is not worth the risk.
TEST_F(OneSlow, NoBarrierHasToStayWorthIt) {
  EXPECT_EQ(Best(Estimated(NoiseOf(1, 1)), kAsync), Barrier(7)) << "7 is 2.9 % better";
  EXPECT_EQ(Best(Estimated(NoiseOf(1, 3)), kAsync), Barrier(7)) << "no barrier is 0.6 % better";
}

TEST_F(OneSlow, WhatAStepCostsBesideComputingCounts) {
  const NoiseScale noise = NoiseOf(1, 1);
  EXPECT_EQ(Best(Estimated(noise, 0, {.communication = 0.2}), kAsync), Barrier(7));
  EXPECT_EQ(Best(Estimated(noise, 0.5), kAll), kAsync);
}

TEST_F(OneSlow, WhatIsOutOfQuestionIsNotChosen) {
  const NoiseScale noise = NoiseOf(1, 1);
  EXPECT_EQ(Best(Estimated(noise, 0.5, {.trust = 0}), kAll), Barrier(7));
  EXPECT_EQ(Best(Estimated(noise, 0, {.trust = 0}), kAsync), Barrier(7));
}

// By which they are worth less, and their noise costs less.
TEST_F(OneSlow, StepsOfFewAreAsLongAsThoseOfAll) {
  const double length = std::sqrt(2.0 / 5);  // (1 + 1) / (1 + 4) of two of eight.
  EXPECT_THAT(Estimated(NoiseOf(1, 1)).ProgressOf(Barrier(2)),
              DoubleNear(length * (1 - .5 * length * 5 / 2), 1e-9));
  EXPECT_THAT(Estimated(NoiseOf(1, 0)).ProgressOf(Barrier(2)), DoubleNear(.5, 1e-9));
}

TEST_F(OneSlow, WhatDidNotComeTrueIsBelievedLess) {
  const NoiseScale noise = NoiseOf(1, 1);
  const Estimates estimates = Estimate(workers_, {}, {}, noise, 0.8);
  EXPECT_THAT(estimates.ProgressOf(Barrier(7)), DoubleNear(.8 * .46609, 1e-5));
  EXPECT_THAT(estimates.ProgressOf(kAll), DoubleNear(.125, 1e-9)) << "whom it waits for is known";
  EXPECT_EQ(Best(estimates, Barrier(7)), kAsync);
  EXPECT_EQ(Best(Estimated(noise), Barrier(7)), Barrier(7));
}

TEST(JudgementTest, AQuarterOfTheWorkersAreTheLeast) {
  EXPECT_EQ(LeastBarrier(1), 1u);
  EXPECT_EQ(LeastBarrier(4), 2u);
  EXPECT_EQ(LeastBarrier(2), 1u);
  EXPECT_EQ(LeastBarrier(3), 2u);
  EXPECT_EQ(LeastBarrier(5), 2u);
  EXPECT_EQ(LeastBarrier(9), 3u);
  EXPECT_EQ(LeastBarrier(16), 4u);
  EXPECT_EQ(PushesOfAsync(4), 2u);
  EXPECT_EQ(PushesOfAsync(16), 4u);
}

TEST(JudgementTest, OfThousandsOfWorkersNotEachKIsTried) {
  StepTimes times;
  times.Add(1);
  const std::vector<ShadowWorker> workers(1000, {&times});
  const Estimates estimates = Estimate(workers, {}, {}, NoiseOf(1, 1));
  EXPECT_LE(estimates.ks.size(), 64u);
  EXPECT_GE(estimates.ks.front(), 250u);
  EXPECT_EQ(estimates.ks.back(), 1000u);
  EXPECT_EQ(Best(estimates, kAll), kAll);
}

}  // namespace
}  // namespace paceline::sync
