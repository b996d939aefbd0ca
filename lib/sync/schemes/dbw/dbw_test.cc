#include "lib/sync/schemes/dbw/dbw.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>

#include "lib/sync/schemes/policy_factory.h"

namespace paceline::sync {
namespace {

using ::testing::HasSubstr;

// A quorum whose steps take their pushes at given seconds.
class Bench {
 public:
  explicit Bench(const DbwOptions& options, std::string_view saved = "")
      : dbw_(*Dbw::Make(options, saved).value()) {}
  explicit Bench(const Dbw& dbw) : dbw_(dbw) {}

  // Its pushes come until there are as many as it asks for; gives that number.
  uint32_t Step(const std::vector<double>& seconds, double norm2 = 1.5, double squared_norm = 1,
                double loss = 1) {
    const auto members = static_cast<uint32_t>(seconds.size());
    Tell(StepBegan{.version = version_, .members = members, .workers = members});
    const Time began = now_;
    const uint32_t k = dbw_.PushesWanted(members);
    for (uint32_t rank = 1; rank <= k; ++rank) {
      now_ = began + Seconds(seconds[rank - 1]);
      PushCounted push{.worker = WorkerId(rank - 1), .rank = rank, .samples = 8};
      push.timing.compute = now_ - began;
      push.gradient = {.loss = loss, .squared_norm = norm2};
      Tell(push);
    }
    const double rate = 0.1 * dbw_.LearningRateScale(k);
    Tell(StepClosed{k});
    version_ = version_.Next();
    Tell(StepCommitted{version_, rate, squared_norm});
    while (dbw_.WantsSpare()) Tell(Spare{64});
    return k;
  }

  void Tell(const StepFact& fact) { dbw_.Observe(fact, now_); }
  Dbw& dbw() { return dbw_; }

  std::map<std::string, double> Figures() {
    std::vector<Figure> figures;
    dbw_.Tell(figures);
    std::map<std::string, double> values;
    for (const Figure& figure : figures)
      values[std::string(figure.kind->name) + (figure.label.empty() ? "" : " " + figure.label)] =
          figure.value;
    return values;
  }

 private:
  Dbw dbw_;
  Version version_;
  Time now_{};
};

const std::vector<double> kLastIsSlow = {1, 1, 1, 10};

TEST(Dbw, WaitsForAllAtFirstThenForWhatIsWorthMost) {
  Bench bench({.warmup_steps = 2});
  EXPECT_EQ(bench.Step(kLastIsSlow), 4u);
  EXPECT_EQ(bench.Step(kLastIsSlow), 4u);
  EXPECT_EQ(bench.Step(kLastIsSlow), 3u);
}

TEST(Dbw, WaitsForAllAfterAJoinOnce) {
  Bench bench({.warmup_steps = 1});
  bench.Step(kLastIsSlow);
  EXPECT_EQ(bench.Step(kLastIsSlow), 3u);
  const std::vector<double> five = {1, 1, 1, 1, 10};
  EXPECT_EQ(bench.Step(five), 5u);
  EXPECT_LT(bench.Step(five), 5u);
}

TEST(Dbw, KIsNeverMoreThanWhomToCountOn) {
  Bench bench({.warmup_steps = 1});
  bench.Step({1, 1, 1, 1});
  bench.Tell(StepBegan{.members = 4, .workers = 2});
  EXPECT_EQ(bench.dbw().PushesWanted(4), 2u);
  bench.Tell(StepBegan{.members = 4, .workers = 0});
  EXPECT_EQ(bench.dbw().PushesWanted(4), 1u);
}

TEST(Dbw, KIsAtLeastItsBound) {
  Bench bench({.warmup_steps = 1, .k_min = 4});
  bench.Step(kLastIsSlow);
  EXPECT_EQ(bench.Step(kLastIsSlow), 4u);
}

TEST(Dbw, TellsTheFiguresThatItWorksWith) {
  Bench bench({.warmup_steps = 1});
  bench.Step(kLastIsSlow);
  bench.Step(kLastIsSlow);
  bench.Tell(PushLate{.worker = WorkerId(3), .samples = 8});
  const auto figures = bench.Figures();
  EXPECT_EQ(figures.at("paceline_step_backup_workers"), 1);
  EXPECT_EQ(figures.at("paceline_dbw_fallbacks_total warm-up"), 1);
  EXPECT_EQ(figures.at("paceline_dbw_fallbacks_total no-gain"), 0);
  EXPECT_EQ(figures.at("paceline_dbw_loss"), 1);
  EXPECT_NEAR(figures.at("paceline_dbw_step_seconds 1"), 1, 1e-3);
  EXPECT_GT(figures.at("paceline_dbw_gain 2"), figures.at("paceline_dbw_gain 1"));
  EXPECT_EQ(figures.at("paceline_step_arrival_seconds 3"), 1);
  EXPECT_FALSE(figures.contains("paceline_step_arrival_seconds 4"));
  EXPECT_EQ(figures.at("paceline_worker_round_trip_seconds w0"), 1);
  EXPECT_EQ(figures.at("paceline_worker_accept_ratio w0"), 1);
  EXPECT_LT(figures.at("paceline_worker_accept_ratio w3"), 1);
  // (4 x 8 x 1.5 - 32 x 1) / 3 at first, (3 x 8 x 1.5 - 24 x 1) / 2 then.
  EXPECT_NEAR(figures.at("paceline_dbw_sample_variance"), (16.0 / 3 + 6) / 2, 1e-12);
}

// A round of which one push has nothing to say is measured by the others.
TEST(Dbw, APushOfSkippedSamplesIsNoMeasure) {
  Bench bench({.warmup_steps = 1}), with_empty({.warmup_steps = 1});
  bench.Step(kLastIsSlow);
  with_empty.Step(kLastIsSlow);
  for (Bench* const one : {&bench, &with_empty}) {
    one->Tell(StepBegan{.version = Version(1), .members = 4, .workers = 4});
    PushCounted push{.worker = WorkerId(0), .rank = 1, .samples = 8};
    push.gradient = {.loss = 3, .squared_norm = 6};
    one->Tell(push);
    push.worker = WorkerId(1);
    push.rank = 2;
    push.gradient = {.loss = 5, .squared_norm = 2};
    one->Tell(push);
    if (one == &with_empty) {
      push.worker = WorkerId(2);
      push.rank = 3;
      push.gradient = {.loss = 7, .squared_norm = 0, .is_empty = true};
      one->Tell(push);
    }
    one->Tell(StepClosed{3});
    one->Tell(StepCommitted{Version(2), 0.1, 1});
  }
  const auto figures = bench.Figures(), of_it = with_empty.Figures();
  for (const char* const name :
       {"paceline_dbw_loss", "paceline_dbw_sample_variance", "paceline_dbw_squared_gradient",
        "paceline_dbw_step_seconds 1", "paceline_dbw_step_seconds 3"})
    EXPECT_EQ(figures.at(name), of_it.at(name)) << name;
  EXPECT_EQ(of_it.at("paceline_dbw_loss"), 4);
}

const DbwOptions kByNoise{.method = DbwMethod::kNoiseScale, .warmup_steps = 1};

// Of 32 samples in four pushes s2 = (32 x 1.5 - 32 x 1) / 3, N = 1 - s2 / 32 = 5 / 6, V = 1 / 6,
// so that G(k) / T(k) is .775 / 1, .825 / 2, .842 / 3, .85 / 4.
TEST(Dbw, ByNoiseItWaitsForFewWhereGradientsAgree) {
  Bench bench(kByNoise);
  EXPECT_EQ(bench.Step({1, 2, 3, 4}), 4u);
  EXPECT_EQ(bench.Step({1, 2, 3, 4}), 1u);
}

// s2 = 48, N = 0: G is 0, .3, .533, .65.
TEST(Dbw, ByNoiseItWaitsForAllWhereGradientsScatter) {
  Bench bench(kByNoise);
  bench.Step({3, 3, 3.5, 4}, 6, 1.5);
  EXPECT_EQ(bench.Step({3, 3, 3.5, 4}, 6, 1.5), 4u);
  const auto figures = bench.Figures();
  EXPECT_EQ(figures.at("paceline_dbw_gain 1"), 0);
  EXPECT_NEAR(figures.at("paceline_dbw_gain 2"), 0.3, 1e-12);
  EXPECT_NEAR(figures.at("paceline_dbw_gain 3"), 1 - 0.35 * 4 / 3, 1e-12);
  EXPECT_NEAR(figures.at("paceline_dbw_gain 4"), 0.65, 1e-12);
  EXPECT_EQ(figures.at("paceline_dbw_squared_gradient"), 0);
  EXPECT_NEAR(figures.at("paceline_dbw_sample_variance"), 48, 1e-12);
  EXPECT_FALSE(figures.contains("paceline_dbw_smoothness"));
}

// s2 is 16 / 3, then 48; of four steps the newest weighs a quarter.
TEST(Dbw, ByNoiseTheWindowSaysHowMuchTheNewestStepWeighs) {
  DbwOptions options = kByNoise;
  options.window = 4;
  options.warmup_steps = 2;
  Bench bench(options);
  bench.Step({1, 1, 1, 1});
  bench.Step({1, 1, 1, 1}, 6, 1.5);
  EXPECT_NEAR(bench.Figures().at("paceline_dbw_sample_variance"), (0.75 * 16 / 3 + 48) / (0.75 + 1),
              1e-9);
}

// A rate of k / n costs less, and is worth less.
TEST(Dbw, ByNoiseALowerRateIsWeighedToo) {
  DbwOptions options = kByNoise;
  options.rate_rule = RateRule::kProportional;
  Bench bench(options);
  bench.Step({1, 1, 3, 4}, 6, 1.5);
  bench.Step({1, 1, 3, 4}, 6, 1.5);
  // k / 4 (1 - .35 k / 4 x 4 / k).
  EXPECT_NEAR(bench.Figures().at("paceline_dbw_gain 1"), 0.65 / 4, 1e-12);
}

TEST(Dbw, ByNoiseAQuarterOfAllAreTheLeast) {
  Bench bench(kByNoise);
  const std::vector<double> nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_EQ(bench.Step(nine, 1), 9u);
  EXPECT_EQ(bench.Step(nine, 1), 3u);
}

// Losses that rise mean nothing to it.
TEST(Dbw, ByNoiseLossesAreOfNoImportance) {
  Bench bench(kByNoise);
  bench.Step({1, 2, 3, 4}, 1, 1, 1);
  bench.Step({1, 2, 3, 4}, 1, 1, 1);
  EXPECT_EQ(bench.Step({1, 2, 3, 4}, 1, 1, 100), 1u);
  EXPECT_EQ(bench.Step({1, 2, 3, 4}, 1, 1, 1), 1u);
}

// Steps of one push say nothing of how much gradients scatter.
TEST(Dbw, ByNoiseEveryFiftiethStepHasTwoPushes) {
  Bench bench(kByNoise);
  std::vector<uint32_t> ks;
  for (int step = 0; step < 60; ++step) ks.push_back(bench.Step({1, 2, 3, 4}, 1));
  EXPECT_EQ(std::ranges::count(ks, 1u), 58);
  EXPECT_EQ(std::ranges::count(ks, 2u), 1);
}

TEST(Dbw, ByNoiseItMayBeginAStepThatNobodyTakesPartIn) {
  Bench bench(kByNoise);
  bench.Step({1, 2, 3, 4});
  bench.Step({1, 2, 3, 4});
  bench.Tell(StepBegan{.members = 0, .workers = 0});
  EXPECT_EQ(bench.dbw().PushesWanted(3), 3u);
}

TEST(Dbw, ByNoiseItGoesOnFromWhatWasSaved) {
  Bench bench(kByNoise);
  for (int step = 0; step < 5; ++step) bench.Step({1, 1, 3, 4}, 6, 1.5);
  const std::string saved = bench.dbw().Save();
  Bench restored(kByNoise, saved);
  EXPECT_EQ(restored.dbw().Save(), saved);
  EXPECT_GE(restored.Figures().at("paceline_dbw_sample_variance"), 48);
  Bench clone(bench.dbw());
  EXPECT_EQ(clone.dbw().DebugString(), bench.dbw().DebugString());
  const auto refused = Dbw::Make(kByNoise, "dbw noise=1,2");
  EXPECT_EQ(refused.status().code(), StatusCode::kDataLoss);
}

TEST(Dbw, GoesOnFromWhatWasSaved) {
  const DbwOptions options{.warmup_steps = 2};
  Bench bench(options);
  for (int step = 0; step < 5; ++step) bench.Step(kLastIsSlow);
  const std::string saved = bench.dbw().Save();
  Bench restored(options, saved);
  EXPECT_EQ(restored.dbw().Save(), saved);
  // It is told of its workers anew, as if they had joined: one step of all.
  EXPECT_EQ(restored.Step(kLastIsSlow), 4u);
  EXPECT_EQ(restored.Step(kLastIsSlow), 3u);
}

TEST(Dbw, ACloneGoesItsOwnWay) {
  Bench bench({.warmup_steps = 1});
  bench.Step(kLastIsSlow);
  Bench clone(bench.dbw());
  const std::string before = bench.dbw().DebugString();
  EXPECT_EQ(clone.dbw().DebugString(), before);
  clone.Step(kLastIsSlow);
  EXPECT_EQ(bench.dbw().DebugString(), before);
}

TEST(Dbw, RefusesWhatItDidNotSave) {
  for (const char* const saved :
       {"nonsense", "dbw warm=x", "gain norms=1 shares=1,2", "durations workers=2\nduration cell=9",
        "gain loss=1 rate=0 samples=1 squared-gradient=0 variance=0"}) {
    const auto dbw = Dbw::Make({}, saved);
    EXPECT_EQ(dbw.status().code(), StatusCode::kDataLoss) << saved;
    EXPECT_THAT(Message(dbw.status()), HasSubstr("DBW"));
  }
}

TEST(Dbw, RefitsInPortionsAndInSpareTimeOnly) {
  Bench bench({.warmup_steps = 1});
  std::vector<double> seconds(64);
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] = 1 + 0.01 * static_cast<double>(i);
  bench.Tell(StepBegan{.members = 64, .workers = 64});
  bench.Tell(PushCounted{.worker = WorkerId(0), .rank = 1, .samples = 1});
  int portions = 0;
  for (; bench.dbw().WantsSpare(); ++portions) bench.Tell(Spare{64});
  // Thirty sweeps over 4,096 cells and back, 16,384 cells a portion.
  EXPECT_NEAR(portions, 16, 1);
}

TEST(Dbw, AStepHasADeadlineOfTenTimesWhatIsExpected) {
  Bench bench({.warmup_steps = 1});
  bench.Tell(StepBegan{.members = 4, .workers = 4});
  EXPECT_EQ(bench.dbw().Deadline(), Time{} + Seconds(60));
  bench.Step(kLastIsSlow);
  EXPECT_FALSE(bench.dbw().Deadline());
  bench.Tell(StepBegan{.members = 4, .workers = 4});
  EXPECT_NEAR(ToSeconds(*bench.dbw().Deadline() - Time{}), 10 + 10 * 10, 0.1);
  bench.Tell(SilentGivenUp{});
  EXPECT_FALSE(bench.dbw().Deadline());
}

// It is of a batch of the size before.
TEST(Dbw, WhatComesTooLateAfterSizesHaveChangedSaysNothingOfSteps) {
  for (const bool has_changed : {false, true}) {
    Bench bench({.warmup_steps = 1});
    bench.Step(kLastIsSlow);
    ASSERT_EQ(bench.Step(kLastIsSlow), 3u);
    if (has_changed) bench.Tell(SizesChanged{});
    const std::string before = bench.dbw().Save();
    bench.Tell(StepBegan{.version = Version(2), .members = 4, .workers = 4});
    bench.Tell(PushLate{.worker = WorkerId(3), .based_on = Version(1), .samples = 8});
    EXPECT_EQ(bench.dbw().Save() == before, has_changed);
  }
}

TEST(Dbw, AfterSizesHaveChangedWorkersAreAsTheirNextPushesSay) {
  Bench bench({.warmup_steps = 1});
  for (int step = 0; step < 5; ++step) bench.Step({4, 4, 4, 4});
  bench.Tell(SizesChanged{});
  bench.Step({1, 1, 2, 4});
  EXPECT_EQ(bench.Figures().at("paceline_worker_round_trip_seconds w0"), 1);
}

TEST(Dbw, ManyWorkersAreChosenAmongInSteps) {
  Bench bench({.warmup_steps = 1});
  std::vector<double> seconds(1000, 1);
  for (size_t i = 500; i < seconds.size(); ++i) seconds[i] = 100;
  bench.Step(seconds);
  const uint32_t k = bench.Step(seconds);
  EXPECT_LE(k, 500u);
  EXPECT_GE(k, 500u - 1000 / 64 - 1);
}

TEST(Fleet, AfterADoubtAPushThatCountsSaysAllAnew) {
  Fleet fleet;
  const auto push = [&](uint32_t samples, bool is_counted) {
    Timing timing;
    timing.compute = Seconds(samples);
    fleet.Pushed(WorkerId(0), samples, timing, is_counted);
    fleet.Sort();
    return fleet.BatchOfFastest(1);
  };
  push(10, true);
  fleet.DoubtAll();
  EXPECT_EQ(push(12, false), 12);  // Too late: perhaps of before the change.
  EXPECT_EQ(push(100, true), 100);
  EXPECT_EQ(push(50, true), 90);
}

TEST(Fleet, TheFastestComeFirst) {
  Fleet fleet;
  const auto push = [&](uint32_t worker, uint32_t samples, double seconds) {
    Timing timing;
    timing.compute = Seconds(seconds);
    fleet.Pushed(WorkerId(worker), samples, timing, true);
  };
  push(0, 10, 3);
  push(1, 20, 1);
  push(2, 60, 2);
  fleet.Sort();
  EXPECT_EQ(fleet.BatchOfFastest(1), 20);
  EXPECT_EQ(fleet.BatchOfFastest(2), 80);
  EXPECT_EQ(fleet.BatchOfFastest(3), 90);
  EXPECT_EQ(fleet.BatchOfFastest(5), 150);  // Unknown ones have the mean batch.
  fleet.Forget(WorkerId(2));
  fleet.Sort();
  EXPECT_EQ(fleet.BatchOfFastest(2), 30);
}

}  // namespace
}  // namespace paceline::sync
