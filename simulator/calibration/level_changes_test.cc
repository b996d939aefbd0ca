#include "simulator/calibration/level_changes.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/kernel/distribution.h"
#include "simulator/kernel/random_stream.h"

namespace paceline::simulator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Logarithms of lengths that are drawn one by one, each part's times its factor.
std::vector<double> Drawn(const Distribution& jitter,
                          const std::vector<std::pair<size_t, double>>& parts, uint64_t seed) {
  RandomStream stream(seed, "jitter", 0);
  std::vector<double> values;
  for (const auto& [count, factor] : parts) {
    for (size_t i = 0; i < count; ++i) values.push_back(std::log(factor * Draw(jitter, stream)));
  }
  return values;
}

TEST(LevelChanges, AreWhereAnotherLevelBegins) {
  EXPECT_THAT(LevelChanges({}), IsEmpty());
  EXPECT_THAT(LevelChanges(std::vector<double>(50, 1.0)), IsEmpty());
  std::vector<double> levels(25, 0.0);
  levels.insert(levels.end(), 34, std::log(5));
  EXPECT_THAT(LevelChanges(levels), ElementsAre(25));
  levels.insert(levels.end(), 10, 0.0);
  EXPECT_THAT(LevelChanges(levels), ElementsAre(25, 59));
}

TEST(LevelChanges, AreNotWhatAFewStepsDiffer) {
  std::vector<double> levels(50, 0.0);
  levels[20] = levels[21] = 2;
  EXPECT_THAT(LevelChanges(levels), IsEmpty());
  std::vector<double> slightly(50, 0.0);
  for (size_t i = 25; i < 50; ++i) slightly[i] = 0.99 * kLevelStep;
  EXPECT_THAT(LevelChanges(slightly), IsEmpty());
}

// Jitter alone is no change, however heavy its tail; once in a hundred series it may look like one.
// Spikes that are rare do a little oftener.
TEST(LevelChanges, AreNotFoundInJitter) {
  const std::pair<const char*, Distribution> all[] = {
      {"lognormal", Lognormal{1, 0.3}},
      {"exponential", ShiftedExponential{0.1, 1}},
      {"pareto", Pareto{1, 1.5}},
      {"gamma", Gamma{1, 0.5}},
  };
  for (const auto& [name, jitter] : all) {
    size_t found = 0;
    for (uint64_t seed = 1; seed <= 1000; ++seed)
      found += !LevelChanges(Drawn(jitter, {{60, 1}}, seed)).empty();
    EXPECT_LE(found, 10u) << name;
  }
}

TEST(LevelChanges, AreSeldomFoundInRareSpikes) {
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RandomStream stream(seed, "spike", 0);
    std::vector<double> values(400);
    for (double& value : values) value = stream.Uniform() < 0.05 ? std::log(10) : 0;
    found += !LevelChanges(values).empty();
  }
  EXPECT_LE(found, 20u);
}

TEST(LevelChanges, AreFoundThroughJitter) {
  size_t found = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto changes = LevelChanges(Drawn(Lognormal{1, 0.3}, {{40, 1}, {30, 3}, {40, 1}}, seed));
    found += changes.size() == 2 && std::abs(static_cast<int>(changes[0]) - 40) <= 1 &&
             std::abs(static_cast<int>(changes[1]) - 70) <= 1;
  }
  EXPECT_GE(found, 195u);
}

}  // namespace
}  // namespace paceline::simulator
