#include "lib/sync/schemes/rivals/ada_sync.h"

#include <gtest/gtest.h>

namespace paceline::sync {
namespace {

// A step of one push of that loss, and as many seconds.
void Step(AdaSync& ada_sync, Time& now, double loss, double seconds = 1, uint32_t members = 8) {
  ada_sync.Observe(StepBegan{.members = members, .workers = members}, now);
  now += Seconds(seconds);
  PushCounted push{.worker = WorkerId(0), .rank = 1, .samples = 4};
  push.gradient.loss = loss;
  ada_sync.Observe(push, now);
  ada_sync.Observe(StepClosed{1}, now);
}

uint32_t Next(AdaSync& ada_sync, Time now, uint32_t members = 8) {
  ada_sync.Observe(StepBegan{.members = members, .workers = members}, now);
  return ada_sync.PushesWanted(members);
}

TEST(AdaSync, KGrowsWithTheRootOfTheLossesRatio) {
  for (const auto& [loss, k] : {std::pair{16.0, 1u}, {4.0, 2u}, {1.0, 4u}, {0.5, 6u}, {0.01, 8u}}) {
    AdaSync ada_sync({.ada_sync_seconds = 10});
    Time now{};
    for (int step = 0; step < 10; ++step) Step(ada_sync, now, 16);
    EXPECT_EQ(Next(ada_sync, now), 1u);
    for (int step = 0; step < 10; ++step) Step(ada_sync, now, loss);
    EXPECT_EQ(Next(ada_sync, now), k) << loss;
  }
}

TEST(AdaSync, KIsJudgedAfterEachSliceOnly) {
  AdaSync ada_sync({.ada_sync_seconds = 10});
  Time now{};
  Step(ada_sync, now, 16);
  for (int step = 0; step < 8; ++step) Step(ada_sync, now, 0.1);
  EXPECT_EQ(Next(ada_sync, now), 1u);
}

TEST(AdaSync, StartsFromItsFirstK) {
  AdaSync ada_sync({.ada_sync_k = 3, .ada_sync_seconds = 1});
  Time now{};
  Step(ada_sync, now, 4);
  EXPECT_EQ(Next(ada_sync, now), 3u);
  Step(ada_sync, now, 1);
  EXPECT_EQ(Next(ada_sync, now), 6u);
}

TEST(AdaSync, ALossThatIsNotPositiveChangesNothing) {
  AdaSync ada_sync({.ada_sync_seconds = 1});
  Time now{};
  Step(ada_sync, now, 4);
  for (const double loss : {0.0, -1.0}) {
    Step(ada_sync, now, loss);
    EXPECT_EQ(Next(ada_sync, now), 1u) << loss;
  }
}

TEST(AdaSync, APushOfSkippedSamplesHasNoLoss) {
  AdaSync ada_sync({.ada_sync_seconds = 1});
  Time now{};
  Step(ada_sync, now, 16);
  ada_sync.Observe(StepBegan{.members = 8, .workers = 8}, now);
  PushCounted empty{.worker = WorkerId(1), .rank = 1, .samples = 400};
  empty.gradient = {.loss = 16, .is_empty = true};
  ada_sync.Observe(empty, now);
  Step(ada_sync, now, 4);
  EXPECT_EQ(Next(ada_sync, now), 2u);
}

TEST(AdaSync, GoesOnFromWhatWasSaved) {
  const DbwOptions options{.ada_sync_seconds = 1};
  AdaSync ada_sync(options);
  Time now{};
  Step(ada_sync, now, 16);
  Step(ada_sync, now, 16);
  Step(ada_sync, now, 1);
  ASSERT_EQ(Next(ada_sync, now), 4u);
  AdaSync restored = *AdaSync::Make(options, ada_sync.Save()).value();
  EXPECT_EQ(restored.Save(), ada_sync.Save());
  EXPECT_EQ(Next(restored, now), 4u);
  EXPECT_EQ(AdaSync::Make(options, "dbw warm=1").status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace paceline::sync
