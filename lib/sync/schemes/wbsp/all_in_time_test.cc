#include "lib/sync/schemes/wbsp/all_in_time.h"

#include <gmock/gmock.h>

#include "lib/sync/schemes/saved_pair.h"
#include "lib/sync/testing/wbsp_timed_world.h"

namespace paceline::sync {
namespace {

using testing::Pace;
using testing::TimedWorld;

constexpr double kFactor = 5;
const WorkerId w0(0), w1(1), w2(2);

class Bench {
 public:
  explicit Bench(const std::string& saved = "")
      : quorum_(*std::move(AllInTime::Make(kFactor, saved))) {}

  void Tell(const StepFact& fact) { quorum_->Observe(fact, now_); }
  void At(double seconds, const StepFact& fact) {
    now_ = Time{} + Seconds(seconds);
    Tell(fact);
  }
  void PushAt(double seconds, WorkerId worker) { At(seconds, PushCounted{.worker = worker}); }
  // The running round ends without those.
  void EndWithoutAt(double seconds, const std::vector<WorkerId>& workers) {
    At(seconds, SilentGivenUp{workers});
    Tell(StepClosed{});
  }
  // 0: none.
  double Mean() const {
    const std::string saved = quorum_->Save();
    return saved.empty() ? 0 : std::stod(saved.substr(saved.find('=') + 1));
  }
  // 0: none.
  double Deadline() const {
    const auto deadline = quorum_->Deadline();
    return deadline ? ToSeconds(*deadline - Time{}) : 0;
  }

 private:
  std::unique_ptr<Quorum> quorum_;
  Time now_{};
};

TEST(AllInTime, ARoundHasFactorTimesTheMeanOnceSomebodyHasPushed) {
  Bench bench("wbsp round-seconds=2");
  bench.At(100, StepBegan{});
  EXPECT_EQ(bench.Deadline(), 0);
  bench.PushAt(101, w0);
  EXPECT_EQ(bench.Deadline(), 110);
  bench.At(102, StepClosed{});
  EXPECT_EQ(bench.Deadline(), 0);
}

TEST(AllInTime, TheFirstRoundHasFactorTimesItsSlowestPush) {
  Bench bench;
  bench.At(100, StepBegan{});
  EXPECT_EQ(bench.Deadline(), 0);
  bench.PushAt(101, w0);
  EXPECT_EQ(bench.Deadline(), 110);  // Ten seconds: first steps set much up.
  bench.PushAt(104, w1);
  EXPECT_EQ(bench.Deadline(), 120);
  bench.EndWithoutAt(120, {w2});
  EXPECT_EQ(bench.Mean(), 0);
  bench.PushAt(123, w0);
  EXPECT_EQ(bench.Deadline(), 135) << "nothing was learnt yet";
  bench.At(124, StepClosed{});
  EXPECT_EQ(bench.Mean(), 4);
}

TEST(AllInTime, WhoNeverComesMakesRoundsNoLonger) {
  Bench bench("wbsp round-seconds=1");
  bench.At(0, StepBegan{});
  bench.EndWithoutAt(5, {w2});
  EXPECT_EQ(bench.Mean(), 1);
  bench.Tell(WorkerForgotten{w2});
  bench.PushAt(6, w2);  // Another one of that name.
  EXPECT_EQ(bench.Mean(), 1);
}

TEST(AllInTime, ARoundThatRanOutOfTimeCountsOnceAsUntilItsLastMissingCame) {
  Bench bench("wbsp round-seconds=1");
  bench.At(0, StepBegan{});
  bench.EndWithoutAt(5, {w1, w2});
  bench.PushAt(6, w1);
  EXPECT_DOUBLE_EQ(bench.Mean(), 0.8 * 1 + 0.2 * 6);
  bench.At(7, StepClosed{});
  EXPECT_DOUBLE_EQ(bench.Mean(), 0.8 * (0.8 * 1 + 0.2 * 6) + 0.2 * 2);
  bench.At(11, PushLate{.worker = w2});
  EXPECT_DOUBLE_EQ(bench.Mean(), 0.8 * (0.8 * 1 + 0.2 * 11) + 0.2 * 2);
  const double mean = bench.Mean();
  bench.PushAt(12, w2);
  EXPECT_EQ(bench.Mean(), mean) << "it was heard of";
}

TEST(AllInTime, WhoWasAwayForAnHourDoesNotMakeARoundOfOne) {
  Bench bench("wbsp round-seconds=1");
  bench.At(0, StepBegan{});
  bench.EndWithoutAt(5, {w2});
  bench.PushAt(3600, w2);
  EXPECT_DOUBLE_EQ(bench.Mean(), 0.8 * 1 + 0.2 * 25);
}

TEST(AllInTime, RemembersTheMeanRoundAndNothingElse) {
  EXPECT_EQ((*AllInTime::Make(5, ""))->Save(), "");
  EXPECT_EQ((*AllInTime::Make(5, "wbsp round-seconds=0.25"))->Save(), "wbsp round-seconds=0.25");
  for (const char* const bad :
       {"narx 12", "wbsp round-seconds=-1", "wbsp round-seconds=1 more", "wbsp"})
    EXPECT_FALSE(AllInTime::Make(5, bad).ok()) << bad;
  // As policies before the engine saved it.
  const auto spec = ParsePolicySpec("WBSP");
  EXPECT_TRUE(MakePolicy(*spec, "wbsp round-seconds=0.25").ok());
}

constexpr uint32_t kWorkers = 4;

TimedWorld World(bool is_overlapped, std::vector<Pace> paces = std::vector<Pace>(kWorkers)) {
  PolicySpec spec{.scheme = Scheme::kWbsp};
  spec.global_batch_size = kWorkers;
  spec.wbsp.is_overlapped = is_overlapped;
  return TimedWorld(spec, std::move(paces));
}

double MeanOf(const TimedWorld& world) {
  const auto saved = SplitSaved(world.policy().Save());
  return std::stod(saved->first.substr(saved->first.find('=') + 1));
}

TEST(AllInTimeOnTheClock, AWorkerThatHangsInTheVeryFirstRoundIsNotWaitedForLong) {
  for (const bool is_overlapped : {false, true}) {
    TimedWorld world = World(is_overlapped);
    world.Silence(WorkerId(3));
    world.RunFor(15);
    ASSERT_FALSE(world.rounds().empty());
    EXPECT_NEAR(world.rounds()[0].seconds, 10, 1e-6);
    EXPECT_GE(world.rounds().size(), 5u);
  }
}

TEST(AllInTimeOnTheClock, AWorkerMissingForGoodDoesNotInflateTheMean) {
  for (const bool is_overlapped : {false, true}) {
    TimedWorld world = World(is_overlapped);
    world.Run(20);
    ASSERT_NEAR(MeanOf(world), 1, 1e-6);
    world.Silence(WorkerId(3));
    for (size_t rounds = 21; rounds <= 30; ++rounds) {
      world.Run(rounds);
      // The round after the one that ran out of time begins in the middle of the others' steps.
      EXPECT_LE(MeanOf(world), 1 + 1e-6) << rounds;
      EXPECT_GE(MeanOf(world), 0.8 - 1e-6) << rounds;
    }
  }
}

TEST(AllInTimeOnTheClock, WhenAllBecomeSlowerAllAreWaitedForAgainSoon) {
  for (const bool is_overlapped : {false, true}) {
    for (const double slower : {5.0, 8.0, 40.0}) {
      std::vector<Pace> paces;
      for (uint32_t w = 0; w < kWorkers; ++w) paces.push_back({1 + 0.01 * w});
      TimedWorld world = World(is_overlapped, paces);
      world.Run(20);
      for (uint32_t w = 0; w < kWorkers; ++w) world.SetPace(WorkerId(w), {slower * (1 + 0.01 * w)});
      world.Run(40);
      for (size_t i = 25; i < 40; ++i)
        EXPECT_EQ(world.rounds()[i].steps.size(), kWorkers) << slower << " round " << i;
      EXPECT_NEAR(MeanOf(world), 1.03 * slower, 0.1 * slower);
    }
  }
}

TEST(AllInTimeOnTheClock, AWorkerThatHangsForAnHourNowAndThenHoldsTheOthersUpForOneRound) {
  TimedWorld world = World(false);
  world.RunFor(100);
  for (int time = 0; time < 3; ++time) {
    const size_t rounds = world.rounds().size();
    world.SetPace(WorkerId(3), {3600});
    world.RunFor(2);
    world.SetPace(WorkerId(3), {1});
    world.RunFor(3698);
    EXPECT_LT(MeanOf(world), 1.01);
    EXPECT_GT(world.rounds().size() - rounds, 3690u);
  }
}

}  // namespace
}  // namespace paceline::sync
