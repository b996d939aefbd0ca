#include "lib/sync/schemes/auto/shadow.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/schemes/auto/step_times.h"

namespace paceline::sync {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;

// Seconds of rounds of 1 to all pushes, of workers with these times.
std::vector<double> Seconds(const std::vector<std::vector<double>>& fleet, ShadowRounds rounds,
                            bool are_late_interrupted) {
  rounds.are_late_interrupted = are_late_interrupted;
  std::vector<StepTimes> times(fleet.size());
  std::vector<ShadowWorker> workers;
  std::vector<uint32_t> ks;
  for (size_t i = 0; i < fleet.size(); ++i) {
    for (const double seconds : fleet[i]) times[i].Add(seconds);
    workers.push_back({&times[i]});
    ks.push_back(static_cast<uint32_t>(i + 1));
  }
  return StepSeconds(workers, rounds, ks);
}

auto Are(const std::vector<double>& seconds) { return Pointwise(DoubleNear(1e-9), seconds); }

TEST(ShadowTest, OneThatIsAlwaysSlow) {
  const std::vector<std::vector<double>> fleet{{1}, {1}, {1}, {1}, {1}, {1}, {1}, {4}};
  const std::vector<double> seconds{1, 1, 1, 1, 1, 1, 1, 4};
  EXPECT_THAT(Seconds(fleet, {}, true), Are(seconds));
  EXPECT_THAT(Seconds(fleet, {}, false), Are(seconds));
}

TEST(ShadowTest, WhoIsInterruptedBeginsWithTheOthers) {
  const std::vector<std::vector<double>> fleet{{1, 2}, {1, 2}, {1, 2}, {1, 2}};
  EXPECT_THAT(Seconds(fleet, {}, true), Are({1, 1, 2, 2}));
  EXPECT_THAT(Seconds(fleet, {}, false), Are({1.5, 1.5, 2, 2}));
}

TEST(ShadowTest, CommunicationIsPartOfEachStep) {
  const std::vector<std::vector<double>> fleet{{1, 1}, {1, 3}, {4, 4}};
  EXPECT_THAT(Seconds(fleet, {.communication = 0.1}, true), Are({1.1, 2.1, 4.1}));
  EXPECT_THAT(Seconds(fleet, {.communication = 0.1}, false), Are({1.1, 2.1, 4.1}));
}

TEST(ShadowTest, TimesAreOfASample) {
  EXPECT_THAT(Seconds({{1}, {2}}, {.samples = 8, .communication = 1}, true), Are({9, 17}));
}

TEST(ShadowTest, AWorkerThatHangsIsSlowerThanItWas) {
  StepTimes fast, hanging;
  for (int i = 0; i < 8; ++i) fast.Add(1), hanging.Add(1);
  const std::vector<ShadowWorker> workers{{&fast}, {&hanging, 11}};
  const std::vector<uint32_t> ks{1, 2};
  // Two of ten times, of which the 32 rounds meet seven.
  EXPECT_THAT(StepSeconds(workers, {}, ks), Are({1, 1 + 10.0 * 7 / 32}));
}

}  // namespace
}  // namespace paceline::sync
