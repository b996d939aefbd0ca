#include "lib/sync/schemes/batching/min_max.h"

#include <functional>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using testing::Chance;
using ::testing::ElementsAre;
using testing::Sum;

std::vector<uint32_t> Share(const std::vector<TimeCurve>& curves, uint64_t total,
                            std::vector<Bounds> bounds = {}) {
  if (bounds.empty()) bounds.resize(curves.size());
  return ShareToFinishTogether(std::span<const TimeCurve>(curves), total, bounds);
}

TEST(ShareToFinishTogether, ProportionalTimesGiveSharesBySpeed) {
  EXPECT_THAT(Share({{.per_sample = 0.01}, {.per_sample = 0.03}}, 64), ElementsAre(48, 16));
}

TEST(ShareToFinishTogether, ABaseIsTakenOffTheTimeThatIsShared) {
  // Equal slopes, 0.2 s apart: 20 samples of 0.01 s.
  EXPECT_THAT(Share({{.base = 0.3, .per_sample = 0.01}, {.base = 0.1, .per_sample = 0.01}}, 60),
              ElementsAre(20, 40));
}

// Schemes (11): below saturation a smaller batch saves nothing.
TEST(ShareToFinishTogether, ADeviceIsFilledBeforeAnotherIsSlowedDown) {
  EXPECT_THAT(
      Share({{.base = 0.5, .saturation = 50, .per_sample = 0.01}, {.per_sample = 0.02}}, 75),
      ElementsAre(50, 25));
}

TEST(ShareToFinishTogether, AWorkerThatIsTooSlowGetsItsLeast) {
  EXPECT_THAT(Share({{.base = 9, .per_sample = 1}, {.per_sample = 0.01}}, 30, {{4, 100}, {1, 100}}),
              ElementsAre(4, 26));
}

TEST(ShareToFinishTogether, MemoryBoundsTheFastest) {
  EXPECT_THAT(Share({{.per_sample = 0.001}, {.per_sample = 1}}, 30, {{1, 20}, {1, 100}}),
              ElementsAre(20, 10));
}

TEST(ShareToFinishTogether, FlatCurvesStillAddUp) {
  EXPECT_EQ(Sum(Share({{.base = 1}, {.base = 1}, {.base = 2}}, 17)), 17u);
}

using AnyCurve = std::function<double(uint32_t)>;

// The least time of the slowest, by trying every way to share out.
double BruteForce(const std::vector<AnyCurve>& curves, uint64_t total,
                  const std::vector<Bounds>& bounds, size_t from = 0, double slowest = 0) {
  if (from == curves.size()) return total == 0 ? slowest : std::numeric_limits<double>::infinity();
  double best = std::numeric_limits<double>::infinity();
  for (uint64_t x = bounds[from].lo; x <= bounds[from].hi && x <= total; ++x) {
    best = std::min(best, BruteForce(curves, total - x, bounds, from + 1,
                                     std::max(slowest, curves[from](static_cast<uint32_t>(x)))));
  }
  return best;
}

TEST(ShareToFinishTogetherProperty, NoOtherWayIsFasterForAnyRisingCurves) {
  Chance chance(11);
  for (int round = 0; round < 300; ++round) {
    const size_t count = 1 + chance.Below(4);
    std::vector<std::vector<double>> tables(count);
    std::vector<AnyCurve> curves;
    std::vector<Bounds> bounds;
    uint64_t least = 0, most = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto lo = static_cast<uint32_t>(1 + chance.Below(3));
      bounds.push_back({lo, static_cast<uint32_t>(lo + chance.Below(12))});
      least += bounds.back().lo, most += bounds.back().hi;
      // Steps and plateaus of any height.
      double seconds = chance.Uniform();
      for (uint32_t x = 0; x <= bounds.back().hi; ++x) {
        if (chance.Below(3) > 0) seconds += chance.Uniform();
        tables[i].push_back(seconds);
      }
      curves.push_back([&table = tables[i]](uint32_t x) { return table[x]; });
    }
    const uint64_t total = least + chance.Below(most - least + 1);
    const auto parts = ShareToFinishTogether(std::span<const AnyCurve>(curves), total, bounds);
    ASSERT_EQ(Sum(parts), total);
    double slowest = 0;
    for (size_t i = 0; i < count; ++i) {
      ASSERT_GE(parts[i], bounds[i].lo);
      ASSERT_LE(parts[i], bounds[i].hi);
      slowest = std::max(slowest, curves[i](parts[i]));
    }
    ASSERT_EQ(slowest, BruteForce(curves, total, bounds)) << "round " << round;
  }
}

}  // namespace
}  // namespace paceline::sync
