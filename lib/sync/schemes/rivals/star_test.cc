#include "lib/sync/schemes/rivals/star.h"

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

using Values = std::vector<double>;

// As many samples of each.
Values SamplesOf(size_t workers, double each = 1) {
  Values samples;
  for (size_t x = 1; x <= workers; ++x) samples.push_back(each * static_cast<double>(x));
  return samples;
}

uint32_t Quorum(const Values& seconds, double variance, double gradient = 1, double each = 1) {
  return StarQuorum(seconds, SamplesOf(seconds.size(), each), variance, gradient);
}

TEST(Star, WithoutAStragglerAllAreWaitedFor) {
  EXPECT_EQ(Quorum({1, 1.1, 1.2}, 0), 3u);
  EXPECT_EQ(Quorum({2, 2.2, 2.4}, 100), 3u);
  EXPECT_EQ(Quorum({1, 1.1, 1.21}, 0), 1u);
  EXPECT_EQ(Quorum({5}, 3), 1u);
}

TEST(Star, TheOneThatIsSlowIsLeftOut) {
  for (const double variance : {0.0, 16.0, 1e6}) EXPECT_EQ(Quorum({1, 1, 1, 4}, variance), 3u);
}

// Intervals .275, .446, .617 and 1.3. Without noise .275 is the least, with variance alone
// .275, .223, .206, .325 are in proportion, with variance 4 the times are 1.377, 1.338 and 1.440.
TEST(Star, NoiseAsksForMorePushes) {
  const Values seconds{1, 1.05, 1.1, 1.3};
  EXPECT_EQ(Quorum(seconds, 0), 1u);
  EXPECT_EQ(Quorum(seconds, 4), 2u);
  EXPECT_EQ(Quorum(seconds, 1, 0), 3u);
  EXPECT_EQ(Quorum(seconds, 40, 1, 10), 2u) << "as much noise a push";
}

TEST(Star, SpreadWorkersUpdateOneByOne) { EXPECT_EQ(Quorum({1, 2, 3, 4}, 160), 1u); }

// Of workers 0, 1, ... that take those seconds; their mean has the squared norm 2 where each has 3:
// with 1 sample each the variance is n and the gradient 1, if all push.
void Step(Star& star, Time& now, const Values& seconds) {
  const auto n = static_cast<uint32_t>(seconds.size());
  star.Observe(StepBegan{.members = n, .workers = n}, now);
  uint32_t rank = 0;
  for (const double each : seconds) {
    PushCounted push{.worker = WorkerId(rank), .rank = rank + 1, .samples = 1};
    push.timing.compute = Seconds(each);
    push.gradient.squared_norm = 2 + double(n - 1);
    star.Observe(push, now + Seconds(each));
    ++rank;
  }
  now += Seconds(seconds.back());
  star.Observe(StepClosed{n}, now);
  star.Observe(StepCommitted{.squared_norm = 2}, now);
}

uint32_t Next(Star& star, Time now, uint32_t members) {
  star.Observe(StepBegan{.members = members, .workers = members}, now);
  return star.PushesWanted(members);
}

TEST(Star, WaitsForAllUntilItKnowsThem) {
  Star star({});
  Time now{};
  EXPECT_EQ(star.PushesWanted(4), 4u);
  EXPECT_EQ(Next(star, now, 4), 4u);
  Step(star, now, {1, 1, 1, 4});
  EXPECT_EQ(Next(star, now, 4), 3u);
  EXPECT_EQ(Next(star, now, 5), 5u) << "somebody new";
}

// Neither of time nor of noise: two workers that differ as much are all that this step tells of.
TEST(Star, APushOfSkippedSamplesIsNoMeasure) {
  const auto learnt = [](bool has_empty) {
    Star star({});
    Time now{};
    Step(star, now, {1, 1, 1, 4});
    star.Observe(StepBegan{.members = 4, .workers = 4}, now);
    for (const uint32_t worker : {0, 1, 2}) {
      PushCounted push{.worker = WorkerId(worker), .rank = worker + 1, .samples = 1};
      push.timing.compute = Seconds(worker == 1 ? 2 : 1);
      push.gradient = {.squared_norm = 5, .is_empty = worker == 2};
      if (!push.gradient.is_empty || has_empty) star.Observe(push, now);
    }
    now += Seconds(2);
    star.Observe(StepClosed{3}, now);
    star.Observe(StepCommitted{.squared_norm = 2}, now);
    Next(star, now, 4);
    return star.Save() + star.DebugString();
  };
  EXPECT_EQ(learnt(true), learnt(false));
}

TEST(Star, WhoHasGoneIsNoMeasure) {
  Star star({});
  Time now{};
  Step(star, now, {0.5, 1, 1.1, 1.19});
  EXPECT_EQ(Next(star, now, 4), 1u);
  star.Observe(WorkerForgotten{WorkerId(0)}, now);
  EXPECT_EQ(Next(star, now, 3), 3u) << "none of these is slow";
}

TEST(Star, TimesAreRunningMeans) {
  Star star({});
  Time now{};
  Step(star, now, {1, 1, 1, 4});
  for (int step = 0; step < 12; ++step) Step(star, now, {1, 1, 1, 1});
  // 1 + 3 x 0.8^12 is 1.206, 0.8^13 1.165.
  EXPECT_EQ(Next(star, now, 4), 3u);
  Step(star, now, {1, 1, 1, 1});
  EXPECT_EQ(Next(star, now, 4), 4u);
}

TEST(Star, WhoIsSilentIsNotCountedOn) {
  Star star({});
  Time now{};
  Step(star, now, {1, 1, 1, 1, 4});
  star.Observe(StepBegan{.members = 5, .workers = 2}, now);
  EXPECT_EQ(star.PushesWanted(5), 2u);
  EXPECT_EQ(star.Deadline(), now + Seconds(40)) << "ten steps of four seconds";
}

TEST(Star, KeepsNoiseAndLearnsTimesAnew) {
  Star star({});
  Time now{};
  Step(star, now, {1, 1.05, 1.1, 1.3});
  const uint32_t chosen = Next(star, now, 4);
  Star restored = *Star::Make({}, star.Save()).value();
  EXPECT_EQ(restored.Save(), star.Save());
  EXPECT_EQ(Next(restored, now, 4), 4u);
  Step(restored, now, {1, 1.05, 1.1, 1.3});
  EXPECT_EQ(Next(restored, now, 4), chosen);
  EXPECT_EQ(Star::Make({}, "ada-sync k=2").status().code(), StatusCode::kDataLoss);
  EXPECT_EQ(Star::Make({}, "star noise=1,2").status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace paceline::sync
