#include "lib/sync/schemes/batching/stepwise_sizer.h"

#include <functional>
#include <map>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using ::testing::ElementsAre;
using testing::PushOf;
using testing::Sum;

const WorkerId w0(0), w1(1), w2(2);

// Workers with curves of their own, who compute what they are given.
class World {
 public:
  World(uint32_t batch, std::vector<TimeCurve> curves, SizingSpec spec = {})
      : sizer({.global_batch_size = batch, .spec = spec}), curves_(std::move(curves)) {
    for (size_t i = 0; i < curves_.size(); ++i) {
      workers_.push_back(WorkerId(i));
      sizer.Joined(WorkerId(i));
    }
    shares = sizer.ShareOut(workers_);
  }

  void Step() {
    for (size_t i = 0; i < workers_.size(); ++i) {
      PushArrived push = PushOf(workers_[i], shares[i], curves_[i](shares[i]));
      push.signals = signals[workers_[i]];
      sizer.Arrived(push);
    }
    sizer.StepClosed();
    shares = sizer.ShareOut(workers_);
    longest = std::max(longest, Sum(shares));
  }
  void Steps(int count) {
    for (; count > 0; --count) Step();
  }
  double Spread() const {
    double least = 1e9, most = 0, sum = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
      const double seconds = curves_[i](shares[i]);
      least = std::min(least, seconds), most = std::max(most, seconds), sum += seconds;
    }
    return (most - least) * double(shares.size()) / sum;
  }
  double Figure(const FigureKind& kind, const std::string& label = "") const {
    std::vector<sync::Figure> figures;
    sizer.Tell(figures);
    for (const auto& figure : figures)
      if (figure.kind == &kind && figure.label == label) return figure.value;
    ADD_FAILURE() << "no " << kind.name;
    return -1;
  }
  std::vector<TimeCurve>& curves() { return curves_; }
  std::vector<WorkerId>& workers() { return workers_; }

  StepwiseSizer sizer;
  std::vector<uint32_t> shares;
  std::map<WorkerId, Signals> signals;
  uint64_t longest = 0;

 private:
  std::vector<TimeCurve> curves_;
  std::vector<WorkerId> workers_;
};

TEST(StepwiseSizer, InsideTheDeadBandNothingChanges) {
  World world(100, {{.per_sample = 0.0100}, {.per_sample = 0.0104}});
  world.Steps(50);
  EXPECT_THAT(world.shares, ElementsAre(50, 50));
  EXPECT_NEAR(world.Figure(kStragglerEffect), 0.04 / 1.02, 1e-9);
}

TEST(StepwiseSizer, ASmallSpreadMovesAFewSamplesFromTheSlowestToTheFastest) {
  World world(200, {{.per_sample = 0.010},
                    {.per_sample = 0.0105},
                    {.per_sample = 0.012},
                    {.per_sample = 0.011}});
  world.Steps(5);
  // 5 % of a mean share of 50, once.
  EXPECT_THAT(world.shares, ElementsAre(53, 50, 47, 50));
}

TEST(StepwiseSizer, TheFirstTimeOfASizeDoesNotCount) {
  World world(200, {{.per_sample = 0.010}, {.per_sample = 0.012}});
  for (const WorkerId worker : {w0, w1}) world.sizer.Arrived(PushOf(worker, 100, 77));
  world.Steps(5);
  EXPECT_THAT(world.shares, ElementsAre(105, 95));
}

TEST(StepwiseSizer, ALargeSpreadIsSolvedAtOnce) {
  World world(400, {{.per_sample = 0.01}, {.per_sample = 0.03}});
  world.Steps(5);
  EXPECT_THAT(world.shares, ElementsAre(300, 100));
  EXPECT_EQ(world.Figure(kBatchAdjustments, "rapid"), 1);
}

TEST(StepwiseSizer, TwoLooksAfterARapidChangeAreFine) {
  World world(400, {{.per_sample = 0.01}, {.per_sample = 0.03}});
  world.Steps(5);
  ASSERT_EQ(world.Figure(kBatchAdjustments, "rapid"), 1);
  std::swap(world.curves()[0], world.curves()[1]);
  world.Steps(10);
  EXPECT_EQ(world.Figure(kBatchAdjustments, "rapid"), 1);
  EXPECT_EQ(world.Figure(kBatchAdjustments, "fine"), 2);
  world.Steps(5);
  EXPECT_EQ(world.Figure(kBatchAdjustments, "rapid"), 2);
}

// With a base, the first fit (through nothing) overshoots; the second knows two points of the line.
TEST(StepwiseSizer, FindsTheBalanceOfLinesWithABase) {
  World world(400, {{.base = 0.5, .per_sample = 0.01}, {.base = 0.2, .per_sample = 0.03}});
  world.Steps(150);
  EXPECT_LT(world.Spread(), 0.05);
}

// Schemes trap 2.11-3: below saturation, taking samples away does not make a device faster.
TEST(StepwiseSizer, EndsWellWhereADeviceIsNotFilled) {
  World world(400, {{.base = 1.5, .saturation = 150, .per_sample = 0.01}, {.per_sample = 0.006}});
  world.Steps(200);
  EXPECT_LT(world.Spread(), 0.12);
  EXPECT_EQ(Sum(world.shares), 400u);
}

TEST(StepwiseSizer, AnOscillationHalvesTheStepAndLooksLonger) {
  // Equal at 108:92, so steps of 5 (from 100:100) go past it and back, unless they get smaller.
  World world(200, {{.per_sample = 0.0100}, {.per_sample = 0.0117}}, {.dead_band = 0.001});
  world.Steps(120);
  EXPECT_GE(world.Figure(kBatchAdjustments, "oscillation"), 2);
  EXPECT_LE(world.Figure(kBatchStep), 2);
  EXPECT_LT(world.Spread(), 0.02);
}

TEST(StepwiseSizer, OutOfMemoryBoundsTheWorkerForGood) {
  World world(400, {{.per_sample = 0.01}, {.per_sample = 0.03}});
  world.Steps(5);
  world.sizer.RanOutOfMemory(w0, 270);
  world.Steps(100);
  EXPECT_THAT(world.shares, ElementsAre(270, 130));
  EXPECT_EQ(world.Figure(kBatchAdjustments, "oom"), 1);
}

TEST(StepwiseSizer, AWorkerWithoutMemoryToSpareIsNotGivenMore) {
  World world(200, {{.per_sample = 0.010}, {.per_sample = 0.012}});
  world.signals[w0].memory_available = 10e9;
  world.Step();
  world.signals[w0].memory_available = 0.3e9;  // 100 samples took 9.7 GB; 5 more need 0.5.
  world.Steps(30);
  EXPECT_THAT(world.shares, ElementsAre(100, 100));
  world.signals[w0].memory_available = 5e9;
  world.Steps(30);
  EXPECT_GT(world.shares[0], 100u);
}

TEST(StepwiseSizer, ALossIsMadeUpForInProportionAndTuningBeginsAnew) {
  World world(400, {{.per_sample = 0.01}, {.per_sample = 0.03}, {.per_sample = 0.015}});
  world.Steps(5);
  const std::vector<uint32_t> before = world.shares;
  world.sizer.Left(w2);
  world.workers().pop_back(), world.curves().pop_back();
  const auto shares = world.sizer.ShareOut({w0, w1});
  EXPECT_EQ(Sum(shares), 400u);
  EXPECT_NEAR(double(shares[0]) / shares[1], double(before[0]) / before[1], 0.05);
}

TEST(StepwiseSizer, ANewcomerGetsAMeanShare) {
  World world(400, {{.per_sample = 0.01}, {.per_sample = 0.03}});
  world.Steps(5);
  world.sizer.Joined(w2);
  const auto shares = world.sizer.ShareOut({w0, w1, w2});
  EXPECT_THAT(shares, ElementsAre(200, 67, 133));
}

TEST(StepwiseSizer, WaitsForAWorkerThatHasNotBeenMeasured) {
  World world(200, {{.per_sample = 0.010}, {.per_sample = 0.020}});
  for (int i = 0; i < 20; ++i) {
    world.sizer.Arrived(PushOf(w0, 100, 1));
    world.sizer.StepClosed();
    EXPECT_THAT(world.sizer.ShareOut({w0, w1}), ElementsAre(100, 100));
  }
}

}  // namespace
}  // namespace paceline::sync
