#include "lib/sync/schemes/batching/apportion.h"

#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/limits.h"
#include "lib/sync/schemes/batching/min_max.h"
#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using testing::Chance;
using ::testing::ElementsAre;
using testing::Sum;

std::vector<uint32_t> Parts(std::vector<double> weights, uint64_t total,
                            std::vector<Bounds> bounds = {}) {
  if (bounds.empty()) bounds.resize(weights.size());
  return Apportion(weights, total, bounds);
}

TEST(Apportion, PartsAreInProportion) {
  EXPECT_THAT(Parts({1, 2, 3}, 60), ElementsAre(10, 20, 30));
}

TEST(Apportion, FractionsGoToTheLargestRemainders) {
  EXPECT_THAT(Parts({5, 3, 2}, 9), ElementsAre(4, 3, 2));  // 4.5, 2.7, 1.8
}

// 21.5 and 10.5 twice. The 22nd of a fast one takes 11 s, the 11th of a slow one 11.2 s.
TEST(Apportion, LeftoversMayGoToWhoeverHasThemDoneFirst) {
  const std::vector<double> speeds = {2, 0.98, 2, 0.98};
  const std::vector<Bounds> bounds(4);
  EXPECT_THAT(Apportion(speeds, 64, bounds), ElementsAre(21, 11, 21, 11));
  EXPECT_THAT(Apportion(speeds, 64, bounds, Leftovers::kFirstDone), ElementsAre(22, 10, 22, 10));
  const std::vector<double> far = {10, 1.5, 1.5,
                                   1.5};  // 9.7, and 1.4 thrice: both go to the first.
  EXPECT_THAT(Apportion(far, 14, bounds, Leftovers::kFirstDone), ElementsAre(11, 1, 1, 1));
}

TEST(Apportion, AmongEqualRemaindersTheFirstGetsMore) {
  EXPECT_THAT(Parts({1, 1, 1}, 5), ElementsAre(2, 2, 1));
}

TEST(Apportion, WhatABoundCutsOffTheOthersShare) {
  EXPECT_THAT(Parts({8, 1, 1}, 100, {{1, 40}, {1, 100}, {1, 100}}), ElementsAre(40, 30, 30));
  EXPECT_THAT(Parts({98, 1, 1}, 100, {{1, 100}, {10, 100}, {10, 100}}), ElementsAre(80, 10, 10));
}

TEST(Apportion, BoundsOnBothSidesAreHeldInTheOrderThatKeepsTheRestFair) {
  // 100 of 10:1:1 would be 83, 8, 8; held at 50 the others get 25 each, so the least of 20 for the
  // second never mattered.
  EXPECT_THAT(Parts({10, 1, 1}, 100, {{1, 50}, {20, 100}, {1, 100}}), ElementsAre(50, 25, 25));
}

TEST(Apportion, WithoutAnyWeightPartsAreEqual) {
  EXPECT_THAT(Parts({0, 0, 0}, 7), ElementsAre(3, 2, 2));
}

TEST(Apportion, TheWeightlessGetTheirLeast) { EXPECT_THAT(Parts({1, 0}, 10), ElementsAre(9, 1)); }

// A total that fits within random bounds, and weights.
struct Problem {
  std::vector<double> weights;  // 0.01 to 100.01.
  std::vector<Bounds> bounds;
  uint64_t total = 0;
};

Problem MakeProblem(Chance& chance, uint32_t least_max, uint32_t room_max) {
  Problem problem;
  uint64_t least = 0, most = 0;
  for (size_t i = 0, count = 1 + chance.Below(12); i < count; ++i) {
    problem.weights.push_back(0.01 + chance.Uniform() * 100);
    const auto lo = static_cast<uint32_t>(1 + chance.Below(least_max));
    problem.bounds.push_back({lo, static_cast<uint32_t>(lo + chance.Below(room_max))});
    least += problem.bounds.back().lo, most += problem.bounds.back().hi;
  }
  problem.total = least + chance.Below(most - least + 1);
  return problem;
}

void ExpectWithinBounds(const std::vector<uint32_t>& parts, const Problem& problem) {
  ASSERT_EQ(Sum(parts), problem.total);
  for (size_t i = 0; i < parts.size(); ++i) {
    ASSERT_GE(parts[i], problem.bounds[i].lo);
    ASSERT_LE(parts[i], problem.bounds[i].hi);
  }
}

// The definition itself: parts are the clamped multiples of the weights, but for less than one
// sample each.
TEST(ApportionProperty, SumIsExactBoundsAreKeptAndPartsAreClampedMultiples) {
  Chance chance(7);
  for (int round = 0; round < 2000; ++round) {
    const Problem problem = MakeProblem(chance, 20, 200);
    const auto& [weights, bounds, total] = problem;
    const std::vector<uint32_t> parts = Apportion(weights, total, bounds);
    ASSERT_NO_FATAL_FAILURE(ExpectWithinBounds(parts, problem));
    // The multiple that fits, found another way: by bisection.
    double low = 0, high = 1e9;
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      double sum = 0;
      for (size_t j = 0; j < parts.size(); ++j)
        sum += std::clamp<double>(middle * weights[j], bounds[j].lo, bounds[j].hi);
      (sum < double(total) ? low : high) = middle;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const double fair = std::clamp<double>(high * weights[i], bounds[i].lo, bounds[i].hi);
      // Where the total is what all bounds come to, any multiple beyond will do.
      ASSERT_LT(std::abs(parts[i] - fair), 1 + 1e-6) << "round " << round << " part " << i;
    }
  }
}

// Against the solver of any time curves, which finds the shortest step by bisection.
TEST(ApportionProperty, FirstDoneMakesTheSlowestAsFastAsWholeSamplesAllow) {
  Chance chance(11);
  for (int round = 0; round < 2000; ++round) {
    const Problem problem = MakeProblem(chance, 5, 60);
    std::vector<TimeCurve> curves;
    for (const double speed : problem.weights) curves.push_back({.per_sample = 1 / speed});
    const auto slowest = [&](const std::vector<uint32_t>& parts) {
      double seconds = 0;
      for (size_t i = 0; i < parts.size(); ++i) seconds = std::max(seconds, curves[i](parts[i]));
      return seconds;
    };
    const std::vector<uint32_t> parts =
        Apportion(problem.weights, problem.total, problem.bounds, Leftovers::kFirstDone);
    ASSERT_NO_FATAL_FAILURE(ExpectWithinBounds(parts, problem));
    const auto best =
        ShareToFinishTogether(std::span<const TimeCurve>(curves), problem.total, problem.bounds);
    ASSERT_LE(slowest(parts), slowest(best) * (1 + 1e-9)) << "round " << round;
  }
}

TEST(BatchLimits, MemoryBoundsOneWorkerAndTheOthersMakeUpForIt) {
  BatchLimits limits(90, {});
  limits.Learn(WorkerId(1), 10);
  const auto fit = limits.For({WorkerId(0), WorkerId(1), WorkerId(2)});
  EXPECT_EQ(fit.total, 90u);
  EXPECT_EQ(fit.bounds[1].hi, 10u);
  EXPECT_EQ(limits.LearningRateScale(fit.total), 1);
}

TEST(BatchLimits, WhereAllTogetherCannotHoldTheBatchTheRateGoesDownWithIt) {
  BatchLimits limits(90, {1, 20});
  limits.Learn(WorkerId(1), 5);
  const auto fit = limits.For({WorkerId(0), WorkerId(1), WorkerId(2)});
  EXPECT_EQ(fit.total, 45u);
  EXPECT_EQ(limits.LearningRateScale(fit.total), 0.5);
}

TEST(BatchLimits, ALimitNeverRisesUntilAnotherTakesTheWorkersPlace) {
  BatchLimits limits(90, {});
  limits.Learn(WorkerId(0), 10);
  limits.Learn(WorkerId(0), 30);
  EXPECT_EQ(limits.For({WorkerId(0)}).bounds[0].hi, 10u);
  limits.Joined(WorkerId(0));
  limits.Left(WorkerId(0));
  EXPECT_EQ(limits.Save(), "limit w0 samples=10\n");
  limits.Joined(WorkerId(0));
  EXPECT_EQ(limits.For({WorkerId(0)}).bounds[0].hi, UINT32_MAX);
}

TEST(BatchLimits, LeastBatchesThatAskForTooMuchAreLowered) {
  const BatchLimits limits(9, {4, 100});
  const auto fit = limits.For({WorkerId(0), WorkerId(1), WorkerId(2)});
  EXPECT_EQ(fit.total, 9u);
  EXPECT_EQ(fit.bounds[0].lo, 3u);
}

TEST(BatchLimits, FewerSamplesThanWorkersGiveEachOne) {
  const BatchLimits limits(2, {4, 100});
  const auto fit = limits.For({WorkerId(0), WorkerId(1), WorkerId(2)});
  EXPECT_EQ(fit.total, 3u);
  EXPECT_EQ(limits.LearningRateScale(fit.total), 1);
}

}  // namespace
}  // namespace paceline::sync
