#include "lib/sync/schemes/batching/saved_sizing.h"

#include <cmath>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/make_sizer.h"
#include "lib/sync/schemes/batching/min_max.h"
#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::PushOf;

const WorkerId w0(0), w1(1);
const std::vector<WorkerId> kBoth = {w0, w1};
const std::vector<TimeCurve> kCurves = {{.base = 0.5, .saturation = 40, .per_sample = 0.002},
                                        {.per_sample = 0.01}};

std::unique_ptr<BatchSizer> Made(Sizing strategy, const std::string& saved = "") {
  auto sizer = MakeSizer({.global_batch_size = 400, .spec = {.strategy = strategy}}, saved);
  EXPECT_TRUE(sizer.ok()) << sizer.status();
  return *std::move(sizer);
}

std::vector<uint32_t> Join(BatchSizer& sizer) {
  for (const WorkerId worker : kBoth) sizer.Joined(worker);
  return sizer.ShareOut(kBoth);
}

// Gives what is shared out in the end.
std::vector<uint32_t> Steps(BatchSizer& sizer, int count) {
  std::vector<uint32_t> shares = sizer.ShareOut(kBoth);
  for (; count > 0; --count) {
    for (size_t i = 0; i < 2; ++i)
      sizer.Arrived(PushOf(kBoth[i], shares[i], kCurves[i](shares[i])));
    sizer.StepClosed();
    sizer.StepPublished();
    shares = sizer.ShareOut(kBoth);
  }
  return shares;
}

TEST(SavedSizing, NumbersComeBackBitForBit) {
  const std::vector<TimedSize> sizes = {{10, 1.0 / 3, std::nextafter(4, 5)}, {77.7, 0.1, 1e-2}};
  const auto learnt = ParseLearntCurve(FormatLearntCurve(WorkerId(7), sizes));
  ASSERT_TRUE(learnt.ok()) << learnt.status();
  EXPECT_EQ(learnt->worker, WorkerId(7));
  EXPECT_EQ(learnt->sizes, sizes);
}

TEST(SavedSizing, WhatNoCurveHoldsIsRefused) {
  for (const char* const line :
       {"", "curve", "curve w0", "curve w0 samples=1 seconds=1",
        "curve w0 samples=1 seconds=1 weights=0", "curve w0 samples=2,1 seconds=1,1 weights=1,1",
        "curve w0 samples=1,2 seconds=1 weights=1,1", "curve w0 samples=nan seconds=1 weights=1",
        "curve w0 samples=1 seconds=inf weights=1", "curve w0 samples=1 seconds=-1 weights=1",
        "curve w0 samples=1 seconds=1 weights=1 more",
        "curve w0 samples=1,2,3,4,5,6,7,8,9,10,11,12,13 seconds=1,1,1,1,1,1,1,1,1,1,1,1,1 "
        "weights=1,1,1,1,1,1,1,1,1,1,1,1,1"}) {
    EXPECT_EQ(ParseLearntCurve(line).status().code(), StatusCode::kDataLoss) << line;
  }
}

TEST(SavedSizing, ALimitOfNothingIsRefused) {
  for (const Sizing strategy : {Sizing::kEma, Sizing::kStepwise}) {
    for (const char* const saved : {"limit w0 samples=0\n", "limit w0\n", "limit samples=3\n"}) {
      const auto sizer = MakeSizer({.spec = {.strategy = strategy}}, saved);
      EXPECT_EQ(sizer.status().code(), StatusCode::kDataLoss) << saved;
    }
  }
}

TEST(SavedSizing, StepwiseBeginsWhereItEnded) {
  const auto sizer = Made(Sizing::kStepwise);
  Join(*sizer);
  const std::vector<uint32_t> tuned = Steps(*sizer, 100);
  ASSERT_NEAR(kCurves[0](tuned[0]) / kCurves[1](tuned[1]), 1, 0.06);
  const auto again = Made(Sizing::kStepwise, sizer->Save());
  EXPECT_EQ(again->Save(), sizer->Save()) << "also before anybody has joined";
  const std::vector<uint32_t> shares = Join(*again);
  EXPECT_NEAR(kCurves[0](shares[0]) / kCurves[1](shares[1]), 1, 0.02);
}

TEST(SavedSizing, AStepwiseThatKnowsNothingSavesNothing) {
  const auto sizer = Made(Sizing::kStepwise);
  Join(*sizer);
  EXPECT_EQ(sizer->Save(), "");
}

// A job that is suspended loses its workers before its last checkpoint, which is to know all the
// same.
TEST(SavedSizing, WhatMemoryTaughtStaysUntilAnotherTakesTheWorkersPlace) {
  for (const Sizing strategy : {Sizing::kEma, Sizing::kNarx, Sizing::kStepwise}) {
    const auto sizer = Made(strategy);
    Join(*sizer);
    sizer->RanOutOfMemory(w0, 90);
    const auto again = Made(strategy, sizer->Save());
    EXPECT_THAT(Join(*again), ElementsAre(90, 310));
    EXPECT_EQ(Steps(*again, 60)[0], 90u);
    again->Left(w0);
    EXPECT_THAT(again->Save(), HasSubstr("limit w0 samples=90"));
    again->Joined(w0);
    EXPECT_THAT(again->Save(), Not(HasSubstr("limit")));
    EXPECT_GT(Steps(*again, 60)[0], 90u);
  }
}

TEST(SavedSizing, EachStrategyHandsOnWhatTheOtherLearnt) {
  const auto ema = Made(Sizing::kEma);
  Join(*ema);
  const std::vector<uint32_t> by_speed = Steps(*ema, 20);
  ema->RanOutOfMemory(w0, 390);
  const auto stepwise = Made(Sizing::kStepwise, ema->Save());
  Join(*stepwise);
  Steps(*stepwise, 60);
  EXPECT_THAT(stepwise->Save(), AllOf(HasSubstr("speed w0 "), HasSubstr("speed w1 "),
                                      HasSubstr("curve w0 "), HasSubstr("limit w0 samples=390")));
  const auto again = Made(Sizing::kEma, stepwise->Save());
  EXPECT_THAT(again->Save(), HasSubstr("curve w1 "));
  EXPECT_EQ(Join(*again), by_speed);
}

}  // namespace
}  // namespace paceline::sync
