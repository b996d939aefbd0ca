#include "lib/chaos/delays.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/chaos/draw.h"

namespace paceline::chaos {
namespace {

using job::Delay;
using job::DelayKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Delays Make(std::vector<Delay> list, uint64_t worker = 0, int64_t seed = 0,
            const TraceTexts& traces = {}) {
  const job::Chaos chaos{.enabled = true, .seed = seed, .delays = std::move(list)};
  StatusOr<Delays> delays = Delays::Create(chaos, WorkerId(worker), traces);
  EXPECT_TRUE(delays.ok()) << delays.status();
  return *std::move(delays);
}

// Seconds injected into a step.
double At(const Delays& delays, uint64_t step, double compute = 0.5, uint64_t samples = 8) {
  return ToSeconds(delays.After({.index = step, .samples = samples, .compute = Seconds(compute)}));
}

Delay Exponential(double scale, double alpha) {
  return {.kind = DelayKind::kShiftedExponential, .scale = scale, .alpha = alpha};
}

TEST(Delays, AreNoneUnlessChaosIsEnabled) {
  const job::Chaos chaos{.enabled = false,
                         .delays = {{.kind = DelayKind::kConstant, .seconds = 1}}};
  const StatusOr<Delays> delays = Delays::Create(chaos, WorkerId(0), {});
  ASSERT_TRUE(delays.ok());
  EXPECT_TRUE(delays->empty());
  EXPECT_EQ(At(*delays, 0), 0);
}

TEST(Delays, ConstantAddsSecondsToTheListedWorkers) {
  const std::vector<Delay> list = {
      {.kind = DelayKind::kConstant, .workers = {1, 3}, .seconds = 0.25}};
  EXPECT_EQ(At(Make(list, 0), 5), 0);
  EXPECT_EQ(At(Make(list, 1), 5), 0.25);
  EXPECT_EQ(At(Make(list, 3), 0), 0.25);
  EXPECT_TRUE(Make(list, 2).empty());
}

TEST(Delays, OfAGroupHitItAloneAndGoByTheIndexInIt) {
  const job::Chaos chaos{
      .enabled = true,
      .delays = {{.kind = DelayKind::kConstant, .group = "small", .workers = {1}, .seconds = 0.25},
                 {.kind = DelayKind::kConstant, .seconds = 0.5}}};
  const auto at = [&](const std::string& group, uint64_t index) {
    return At(*Delays::Create(chaos, WorkerId(index), {}, group), 5);
  };
  EXPECT_EQ(at("small", 0), 0.5);
  EXPECT_EQ(at("small", 1), 0.75);
  EXPECT_EQ(at("big", 1), 0.5);
}

TEST(Delays, WorkersOfOneIndexInTwoGroupsHaveChancesOfTheirOwn) {
  const job::Chaos chaos{.enabled = true, .seed = 1, .delays = {Exponential(2, 1)}};
  const auto at = [&](const std::string& group) {
    return At(*Delays::Create(chaos, WorkerId(1), {}, group), 5);
  };
  EXPECT_NE(at("small"), at("big"));
  EXPECT_EQ(at("small"), at("small"));
}

TEST(Delays, PerWorkerGoesByIndexAndSparesThoseBeyondTheList) {
  const std::vector<Delay> list = {{.kind = DelayKind::kPerWorker, .per_worker = {0, 0.5, 1}}};
  EXPECT_EQ(At(Make(list, 0), 0), 0);
  EXPECT_EQ(At(Make(list, 2), 0), 1);
  EXPECT_EQ(At(Make(list, 3), 0), 0);
}

TEST(Delays, PerSampleGrowsWithTheBatch) {
  const Delays delays = Make({{.kind = DelayKind::kPerSample, .seconds_per_sample = 0.125}});
  EXPECT_EQ(At(delays, 0, 0.5, 8), 1);
  EXPECT_EQ(At(delays, 0, 0.5, 2), 0.25);
}

// A capacity of h makes a step 1/h as long: (1/h - 1) x t is missing (schemes 4.7).
TEST(Delays, RatioSleepsForTheCapacityThatIsMissing) {
  EXPECT_DOUBLE_EQ(At(Make({{.kind = DelayKind::kRatio, .ratio = 0.25}}), 0, 0.5), 1.5);
  EXPECT_EQ(At(Make({{.kind = DelayKind::kRatio, .ratio = 1}}), 0, 0.5), 0);
}

TEST(Delays, StepChangeBeginsAtItsStep) {
  const Delays delays =
      Make({{.kind = DelayKind::kStepChange, .at_step = 10, .factor = 5, .fraction = 1}});
  EXPECT_EQ(At(delays, 9, 0.5), 0);
  EXPECT_DOUBLE_EQ(At(delays, 10, 0.5), 2);
  EXPECT_DOUBLE_EQ(At(delays, 11, 0.5), 2);
}

TEST(Delays, StepChangeHitsItsFractionOfTheWorkersSpreadEvenly) {
  const auto hit = [](double fraction, std::vector<int64_t> listed = {}) {
    std::vector<uint64_t> workers;
    for (uint64_t worker = 0; worker < 12; ++worker) {
      if (!Make({{.kind = DelayKind::kStepChange,
                  .workers = listed,
                  .at_step = 0,
                  .factor = 2,
                  .fraction = fraction}},
                worker)
               .empty())
        workers.push_back(worker);
    }
    return workers;
  };
  EXPECT_THAT(hit(0.5), ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_THAT(hit(0.25), ElementsAre(3, 7, 11));
  EXPECT_THAT(hit(1.0 / 3), ElementsAre(2, 5, 8, 11));
  EXPECT_EQ(hit(1).size(), 12);
  EXPECT_THAT(hit(0.5, {2, 4, 6, 8}), ElementsAre(4, 8));  // Of those that are listed.
}

TEST(Delays, TraceIsAddedRowByRow) {
  const TraceTexts traces = {{"d.csv", "0.5,1\n2,3\n"}};
  const std::vector<Delay> list = {{.kind = DelayKind::kTrace, .trace = "d.csv"}};
  EXPECT_THAT(TracePaths({.enabled = true, .delays = list}, WorkerId(1)), ElementsAre("d.csv"));
  EXPECT_TRUE(TracePaths({.enabled = false, .delays = list}, WorkerId(1)).empty());
  const Delays delays = Make(list, 1, 0, traces);
  EXPECT_EQ(At(delays, 0), 1);
  EXPECT_EQ(At(delays, 1), 3);
  EXPECT_EQ(At(delays, 2), 1);
}

TEST(Delays, ATraceThatCannotBeReadIsNamed) {
  const job::Chaos chaos{.enabled = true,
                         .delays = {{.kind = DelayKind::kTrace, .trace = "d.csv"}}};
  EXPECT_THAT(Message(Delays::Create(chaos, WorkerId(0), {{"d.csv", "x"}}).status()),
              HasSubstr("spec.chaos.delays[0].trace: d.csv: line 1: must be seconds"));
  EXPECT_THAT(Message(Delays::Create(chaos, WorkerId(0), {}).status()), HasSubstr("was not read"));
}

// Half as fast and then five times slower: what comes before is drawn out too.
TEST(Delays, ActOneAfterTheOther) {
  const Delays delays = Make({{.kind = DelayKind::kPerSample, .seconds_per_sample = 0.0625},
                              {.kind = DelayKind::kRatio, .ratio = 0.5},
                              {.kind = DelayKind::kConstant, .seconds = 1}});
  EXPECT_DOUBLE_EQ(At(delays, 0, 0.5, 8), (0.5 + 0.5) / 0.5 + 1 - 0.5);
}

TEST(Delays, NeverLastLongerThanAnHour) {
  EXPECT_EQ(At(Make({{.kind = DelayKind::kRatio, .ratio = 1e-6}}), 0, 60), 3600);
}

// Drawn lengths: the step lasts as long as drawn, whatever part of it was computing.
TEST(ShiftedExponential, DrawsTheLengthOfTheStep) {
  const Delays delays = Make({Exponential(2, 0.5)});
  const double drawn = At(delays, 3, 0);
  EXPECT_GE(drawn, 1);  // (1 - alpha) x scale.
  EXPECT_NEAR(At(delays, 3, 0.25), drawn - 0.25, 1e-9);
  EXPECT_EQ(At(delays, 3, drawn + 1), 0);  // It took longer already.
}

TEST(ShiftedExponential, WithoutChanceIsItsMean) {
  const Delays delays = Make({Exponential(0.75, 0)});
  for (uint64_t step = 0; step < 5; ++step) EXPECT_DOUBLE_EQ(At(delays, step, 0), 0.75);
}

// Mean and variance of (1 - alpha) + alpha Exp(1), scaled: s and (s alpha)^2 (schemes 1.10).
TEST(ShiftedExponential, HasItsMoments) {
  constexpr int kSteps = 20000;
  for (const double alpha : {0.2, 0.5, 1.0}) {
    const double scale = 0.3;
    const Delays delays = Make({Exponential(scale, alpha)}, 2, 11);
    double sum = 0;
    double squares = 0;
    for (uint64_t step = 0; step < kSteps; ++step) {
      const double x = At(delays, step, 0);
      sum += x;
      squares += x * x;
    }
    const double mean = sum / kSteps;
    EXPECT_NEAR(mean, scale, 5 * scale * alpha / std::sqrt(kSteps)) << alpha;
    EXPECT_NEAR(std::sqrt(squares / kSteps - mean * mean), scale * alpha, 0.05 * scale * alpha);
  }
}

// Expected time of the k-th of n equal workers: (1 - alpha) + alpha (H_n - H_{n-k}) (schemes 1.10).
TEST(ShiftedExponential, ArrivalsOfManyWorkersHaveTheirClosedForm) {
  constexpr uint64_t kWorkers = 16;
  constexpr uint64_t kSteps = 4000;
  std::vector<Delays> workers;
  for (uint64_t worker = 0; worker < kWorkers; ++worker)
    workers.push_back(Make({Exponential(1, 1)}, worker, 5));
  std::vector<double> sums(kWorkers);
  for (uint64_t step = 0; step < kSteps; ++step) {
    std::vector<double> arrivals;
    for (const Delays& delays : workers) arrivals.push_back(At(delays, step, 0));
    std::ranges::sort(arrivals);
    for (uint64_t k = 0; k < kWorkers; ++k) sums[k] += arrivals[k];
  }
  const auto expect = [&](uint64_t k, double seconds) {
    EXPECT_NEAR(sums[k - 1] / kSteps, seconds, 0.04 * seconds) << "k=" << k;
  };
  expect(1, 0.0625);
  expect(4, 0.2775);
  expect(8, 0.6629);
  expect(12, 1.2974);
  expect(16, 3.3807);
}

TEST(Draws, DependOnSeedWorkerStepAndDelayAlone) {
  const Place place{.seed = 1, .worker = 2, .step = 3, .delay = 4};
  EXPECT_EQ(DrawUniform(place), DrawUniform(place));
  for (const Place& other : {Place{2, 2, 3, 4}, Place{1, 3, 3, 4}, Place{1, 2, 4, 4},
                             Place{1, 2, 3, 5}, Place{2, 1, 3, 4}, Place{1, 3, 2, 4}}) {
    EXPECT_NE(DrawUniform(other), DrawUniform(place));
  }
}

TEST(Draws, AreUniformAndNeighboursUnrelated) {
  constexpr int kCount = 40000;
  double sum = 0;
  double squares = 0;
  double products = 0;  // Of a step and the next, and of a worker and the next.
  double last = DrawUniform({});
  for (uint64_t i = 0; i < kCount; ++i) {
    const double u = DrawUniform({.seed = 0, .worker = i % 2, .step = i / 2});
    EXPECT_GT(u, 0);
    EXPECT_LT(u, 1);
    sum += u;
    squares += u * u;
    products += (u - 0.5) * (last - 0.5);
    last = u;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.005);
  EXPECT_NEAR(products / kCount * 12, 0, 0.02);
}

// Two programs that compare schemes make one delay each, and see the same.
TEST(Draws, AreTheSameForEveryArm) {
  const Delays one = Make({Exponential(1, 0.3)}, 3, 42);
  const Delays other = Make({Exponential(1, 0.3)}, 3, 42);
  const Delays another_seed = Make({Exponential(1, 0.3)}, 3, 43);
  int differing = 0;
  for (uint64_t step = 0; step < 100; ++step) {
    EXPECT_EQ(At(one, step, 0), At(other, step, 0));
    if (At(one, step, 0) != At(another_seed, step, 0)) ++differing;
  }
  EXPECT_EQ(differing, 100);
}

}  // namespace
}  // namespace paceline::chaos
