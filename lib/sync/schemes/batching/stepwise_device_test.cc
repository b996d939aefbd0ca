// Stepwise on devices that are not filled by small batches and whose memory ends (schemes 2.3 (11)
// and 2.4): stubs at the seam that hears pushes and gives sizes.

#include <algorithm>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/min_max.h"
#include "lib/sync/schemes/batching/stepwise_sizer.h"
#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using testing::Chance;
using testing::PushOf;
using testing::Sum;

// (11): `fills_at` samples take as long as one; beyond, each its time; beyond `holds` none.
struct Device {
  TimeCurve curve;
  uint32_t holds = UINT32_MAX;
};

// Samples/s of schemes 2.3 (R2SP, INFOCOM'19): K520, K80, M60. Where each is filled, what launching
// kernels costs and where memory ends is made up.
Device DeviceOf(double samples_per_second, double fills_at, double launch, uint32_t holds) {
  const double per_sample = 1 / samples_per_second;
  return {
      {.base = launch + per_sample * fills_at, .saturation = fills_at, .per_sample = per_sample},
      holds};
}
Device K520(uint32_t holds = UINT32_MAX) { return DeviceOf(429, 64, 0.05, holds); }
Device K80(uint32_t holds = UINT32_MAX) { return DeviceOf(628, 128, 0.10, holds); }
Device M60(uint32_t holds = UINT32_MAX) { return DeviceOf(917, 256, 0.10, holds); }

class Fleet {
 public:
  Fleet(uint32_t batch, std::vector<Device> devices, double noise = 0, uint64_t seed = 1)
      : sizer({.global_batch_size = batch, .spec = {.strategy = Sizing::kStepwise}}),
        devices_(std::move(devices)),
        noise_(noise),
        chance_(seed) {
    for (size_t i = 0; i < devices_.size(); ++i) {
      workers_.push_back(WorkerId(i));
      sizer.Joined(WorkerId(i));
    }
    shares = sizer.ShareOut(workers_);
  }

  // Who runs out of memory says what is thought to fit, and the step begins anew with that.
  void Step() {
    for (size_t i = 0; i < devices_.size();) {
      if (shares[i] <= devices_[i].holds) {
        ++i;
        continue;
      }
      ++out_of_memory;
      sizer.RanOutOfMemory(workers_[i], std::max(1u, shares[i] * 9 / 10));
      shares = sizer.ShareOut(workers_);
      i = 0;
    }
    for (size_t i = 0; i < devices_.size(); ++i) {
      const double seconds = devices_[i].curve(shares[i]) * (1 + noise_ * chance_.Normal());
      sizer.Arrived(PushOf(workers_[i], shares[i], seconds));
    }
    sizer.StepClosed();
    shares = sizer.ShareOut(workers_);
  }
  void Steps(int count) {
    for (; count > 0; --count) Step();
  }
  void LoseAndFindLast() {
    sizer.Left(workers_.back());
    sizer.Joined(workers_.back());
    shares = sizer.ShareOut(workers_);
  }
  void LoseLast() {
    sizer.Left(workers_.back());
    workers_.pop_back(), devices_.pop_back();
    shares = sizer.ShareOut(workers_);
  }

  double Slowest(const std::vector<uint32_t>& of) const {
    double slowest = 0;
    for (size_t i = 0; i < of.size(); ++i) slowest = std::max(slowest, devices_[i].curve(of[i]));
    return slowest;
  }
  // (9), by the curves that the sizer does not know. Of what a device holds a tenth may stay
  // unused, since sizes that do not fit are tried in tenths.
  double Best(double used = 1) const {
    std::vector<TimeCurve> curves;
    std::vector<Bounds> bounds;
    for (const Device& device : devices_) {
      curves.push_back(device.curve);
      bounds.push_back({1, static_cast<uint32_t>(device.holds * used)});
    }
    return Slowest(ShareToFinishTogether(std::span<const TimeCurve>(curves), Sum(shares), bounds));
  }

  std::vector<Device>& devices() { return devices_; }

  StepwiseSizer sizer;
  std::vector<uint32_t> shares;
  int out_of_memory = 0;

 private:
  std::vector<Device> devices_;
  std::vector<WorkerId> workers_;
  double noise_;
  Chance chance_;
};

TEST(StepwiseDevices, MixedOnesComeToTheBestThatTheirCurvesAllow) {
  for (const uint32_t batch : {600u, 1200u, 2400u, 4800u}) {
    Fleet fleet(batch, {K520(), K520(), K80(), M60(), M60(), M60()});
    fleet.Steps(100);
    EXPECT_LT(fleet.Slowest(fleet.shares), 1.05 * fleet.Best()) << batch;
  }
}

TEST(StepwiseDevices, ALossIsMadeUpForByCurvesAtOnce) {
  Fleet fleet(600, {{{.base = 0.6, .saturation = 100, .per_sample = 0.001}},
                    {{.per_sample = 0.01}},
                    {{.per_sample = 0.01}}});
  fleet.Steps(150);
  ASSERT_LT(fleet.Slowest(fleet.shares), 1.05 * fleet.Best());
  fleet.LoseLast();
  EXPECT_EQ(Sum(fleet.shares), 600u);
  EXPECT_LT(fleet.Slowest(fleet.shares), 1.04 * fleet.Best()) << fleet.sizer.DebugString();
}

TEST(StepwiseDevices, WhoComesBackIsWhatItWas) {
  Fleet fleet(1200, {K520(), K80(), M60()});
  fleet.Steps(80);
  fleet.LoseAndFindLast();
  EXPECT_LT(fleet.Slowest(fleet.shares), 1.05 * fleet.Best()) << fleet.sizer.DebugString();
}

// One that is slow however little it has: taking samples from it would gain nothing and leave it
// with a batch of one.
TEST(StepwiseDevices, NothingIsTakenFromWhoIsNoFasterWithLess) {
  Fleet fleet(1000, {{{.base = 2, .saturation = 300, .per_sample = 0.004}},
                     {{.per_sample = 0.001}},
                     {{.per_sample = 0.001}}});
  fleet.Steps(60);
  const std::vector<uint32_t> rest = fleet.shares;
  EXPECT_GE(rest[0], 30u) << fleet.sizer.DebugString();
  EXPECT_DOUBLE_EQ(fleet.Slowest(rest), fleet.Best());
  for (int i = 0; i < 100; ++i) {
    fleet.Step();
    ASSERT_EQ(fleet.shares, rest) << i;
  }
}

// The curve of before is no curve of what it is now; without forgetting it, sizes would be worked
// out from a mixture.
TEST(StepwiseDevices, ADeviceThatSomebodyElseUsesTooIsLearntAnew) {
  Fleet fleet(1200, {K520(), K80(), M60()});
  fleet.Steps(80);
  ASSERT_LT(fleet.Slowest(fleet.shares), 1.05 * fleet.Best());
  fleet.devices()[2].curve.base *= 2.5;
  fleet.devices()[2].curve.per_sample *= 2.5;
  fleet.Steps(40);
  EXPECT_LT(fleet.Slowest(fleet.shares), 1.05 * fleet.Best()) << fleet.sizer.DebugString();
}

// Times are off by 2 %, and a fleet has 50 steps: ten looks, the first of which see one size.
TEST(StepwiseDevices, AnyFleetComesNearItsBestInFiftySteps) {
  Chance chance(5);
  for (int round = 0; round < 400; ++round) {
    const size_t count = 2 + chance.Below(7);
    std::vector<Device> devices;
    uint64_t held = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto holds = static_cast<uint32_t>(200 + chance.Below(1800));
      devices.push_back(DeviceOf(100 + 1000 * chance.Uniform(), 400 * chance.Uniform(),
                                 0.2 * chance.Uniform(), holds));
      held += holds;
    }
    const auto batch = static_cast<uint32_t>(double(held) * (0.1 + 0.6 * chance.Uniform()));
    Fleet fleet(batch, devices, 0.02, round);
    fleet.Steps(40);
    double slowest = 0;
    for (int i = 0; i < 10; ++i) fleet.Step(), slowest += fleet.Slowest(fleet.shares) / 10;
    EXPECT_EQ(Sum(fleet.shares), batch) << round;
    EXPECT_LT(slowest, 1.1 * fleet.Best(0.9)) << round << ' ' << fleet.sizer.DebugString();
  }
}

}  // namespace
}  // namespace paceline::sync
