#include "lib/sync/schemes/batching/narx.h"

#include <cmath>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/learnt_speed.h"
#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using testing::Chance;
using ::testing::HasSubstr;

Network::Inputs AnyInputs(Chance& chance) {
  Network::Inputs inputs;
  for (double& input : inputs) input = chance.Normal();
  return inputs;
}

TEST(Network, EqualSeedsGiveEqualWeightsAndOthersOthers) {
  EXPECT_EQ(Network(3).weights(), Network(3).weights());
  EXPECT_NE(Network(3).weights(), Network(4).weights());
}

// Adam's first step is the rate times the gradient's sign: so the signs can be compared with those
// of differences of the error itself.
TEST(Network, TheFirstStepGoesAgainstTheSlopeOfTheError) {
  Chance chance(5);
  std::vector<Network::Example> batch;
  for (int i = 0; i < 32; ++i) batch.push_back({AnyInputs(chance), chance.Normal()});
  const auto error = [&](const Network::Weights& weights) {
    double sum = 0;
    for (const auto& example : batch)
      sum += std::pow(Network(weights).Predict(example.inputs) - example.target, 2);
    return sum / double(batch.size());
  };
  Network network(1);
  const Network::Weights before = network.weights();
  network.Train(batch);
  int compared = 0;
  for (size_t i = 0; i < Network::kWeights; ++i) {
    Network::Weights more = before, less = before;
    more[i] += 1e-5, less[i] -= 1e-5;
    const double slope = (error(more) - error(less)) / 2e-5;
    if (std::abs(slope) < 1e-4) continue;
    EXPECT_NEAR(network.weights()[i] - before[i], slope > 0 ? -1e-2 : 1e-2, 1e-5) << i;
    ++compared;
  }
  EXPECT_GT(compared, 150);
}

TEST(Network, LearnsAFunctionThatIsNotLinear) {
  Chance chance(6);
  Network network(2);
  const auto target = [](const Network::Inputs& x) { return std::tanh(2 * x[0]) - 0.5 * x[3]; };
  const auto error = [&] {
    Chance fresh(99);
    double sum = 0;
    for (int i = 0; i < 200; ++i) {
      const Network::Inputs inputs = AnyInputs(fresh);
      sum += std::pow(network.Predict(inputs) - target(inputs), 2);
    }
    return sum / 200;
  };
  const double untrained = error();
  for (int step = 0; step < 1500; ++step) {
    std::vector<Network::Example> batch;
    for (int i = 0; i < 32; ++i) {
      const Network::Inputs inputs = AnyInputs(chance);
      batch.push_back({inputs, target(inputs)});
    }
    network.Train(batch);
  }
  EXPECT_LT(error(), untrained / 20);
}

TEST(Network, AnExampleThatIsNotFiniteTeachesNothing) {
  Network network(1);
  const Network::Weights before = network.weights();
  const std::vector<Network::Example> batch = {{.inputs = {}, .target = std::nan("")}};
  network.Train(batch);
  EXPECT_EQ(network.weights(), before);
}

TEST(Scale, FollowsMeanAndSpread) {
  Scale scale;
  for (const double value : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) scale.Add(value);
  EXPECT_NEAR(scale.mean, 5, 1e-12);
  EXPECT_NEAR(scale.Spread(), 2, 1e-12);
  EXPECT_NEAR(scale.Of(9), 2, 1e-12);
  EXPECT_EQ(scale.Of(1e9), 5);
}

TEST(Narx, SaysNothingBeforeItHasLearnt) {
  Narx narx(0);
  for (size_t i = 0; i < Narx::kSpeeds; ++i) {
    narx.Add(100, {});
    EXPECT_EQ(narx.trainings_due(), 0u);
  }
  EXPECT_FALSE(narx.Predict());
  narx.Add(100, {});
  EXPECT_EQ(narx.trainings_due(), Narx::kTrainingsPerStep);
  narx.Train();
  EXPECT_TRUE(narx.Predict());
}

// The reading that a push brings is the one its successor begins with.
TEST(Narx, LearnsThatAReadingLeadsTheSpeed) {
  Chance chance(8);
  Narx narx(0);
  double share = 1;
  double squares = 0;
  for (int step = 0; step < 400; ++step) {
    const double speed = 100 * share;
    if (step >= 300) squares += std::pow(std::log(speed) - std::log(*narx.Predict()), 2);
    share = 0.5 + 0.5 * chance.Uniform();
    narx.Add(speed, {.cpu_available = share, .memory_available = {}});
    while (narx.trainings_due() > 0) narx.Train();
  }
  // The speed itself is scattered over [50, 100]: 20 % of its mean.
  EXPECT_LT(std::sqrt(squares / 100), 0.06);
}

TEST(Narx, KeepsNoMoreThanItsRing) {
  Narx narx(0);
  for (int step = 0; step < 1000; ++step) narx.Add(100 + step % 7, {});
  EXPECT_EQ(narx.examples(), Narx::kExamplesMax);
  narx.Train();
  EXPECT_TRUE(narx.Predict());
}

TEST(LearntSpeed, ReadsBackBitForBit) {
  Chance chance(9);
  SpeedPredictor predictor({.has_network = true, .seed = 4});
  for (int step = 0; step < 30; ++step) {
    predictor.Measured(100 + 10 * chance.Normal(),
                       {.cpu_available = chance.Uniform(), .memory_available = 1e9});
    while (predictor.network()->trainings_due() > 0) predictor.network()->Train();
  }
  const std::string line = FormatLearnt(WorkerId(3), predictor);
  const auto learnt = ParseLearnt(line);
  ASSERT_TRUE(learnt.ok()) << learnt.status();
  EXPECT_EQ(learnt->worker, WorkerId(3));
  SpeedPredictor again({.has_network = true, .seed = 4});
  again.Restore(learnt->mean, learnt->network);
  EXPECT_EQ(FormatLearnt(WorkerId(3), again), line);
  EXPECT_EQ(again.predicted(), predictor.mean());
}

TEST(LearntSpeed, WhatIsDamagedIsRefused) {
  for (const char* line :
       {"", "speed", "speed w0", "speed w0 mean=-1", "speed w0 mean=nan",
        "speed w0 mean=1 weights=1,2", "speed x mean=1", "speed w0 mean=1 a=b"}) {
    const auto learnt = ParseLearnt(line);
    EXPECT_FALSE(learnt.ok()) << line;
    EXPECT_THAT(Message(learnt.status()), HasSubstr("cannot be read")) << line;
  }
}

}  // namespace
}  // namespace paceline::sync
