#include "lib/sync/schemes/wbsp/all_in_time.h"

#include <gmock/gmock.h>

#include "lib/sync/schemes/policy_factory.h"

namespace paceline::sync {
namespace {

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

}  // namespace
}  // namespace paceline::sync
