// WBSP's deadlines on the simulator's clock: how long a round waits for whoever hangs, is gone or
// has become slower (lib/sync/schemes/wbsp/all_in_time.h).
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/schemes/saved_pair.h"
#include "tests/papers/played.h"

namespace paceline::papers {
namespace {

using simulator::ClusterOptions;

constexpr uint32_t kWorkers = 4;

ClusterOptions Workers(bool is_overlapped, double step = 1, double later = 0) {
  ClusterOptions options{.policy = {.scheme = sync::Scheme::kWbsp}};
  options.policy.global_batch_size = 10 * kWorkers;
  options.policy.wbsp.is_overlapped = is_overlapped;
  for (uint32_t w = 0; w < kWorkers; ++w) options.workers.push_back(StepOf(step + later * w));
  options.learning_rate = 1e-3;
  options.silent_seconds = 1e6;  // Nobody is lost.
  return options;
}

// The mean round, as the policy would save it after each.
std::vector<double> MeansOf(const Played& played) {
  std::vector<double> means;
  const std::unique_ptr<sync::Policy> policy = *sync::MakePolicy(played.spec);
  for (const Moment& moment : played.moments) {
    std::vector<sync::Decision> decisions;
    policy->Observe(moment.event, Time(Seconds(moment.seconds)), decisions);
    for (const sync::Decision& decision : decisions) {
      if (!std::holds_alternative<sync::Commit>(decision)) continue;
      const auto saved = sync::SplitSaved(policy->Save());
      means.push_back(std::stod("0" + saved->first.substr(saved->first.find('=') + 1)));
    }
  }
  return means;
}

TEST(WbspTimeouts, AWorkerThatHangsInTheVeryFirstRoundIsNotWaitedForLong) {
  for (const bool is_overlapped : {false, true}) {
    ClusterOptions options = Workers(is_overlapped);
    options.absences = {{.worker = 3, .from_seconds = 0.5, .until_seconds = {}, .is_silent = true}};
    options.seconds_max = 15;
    const std::vector<Round> rounds = RoundsOf(Play(options));
    ASSERT_GE(rounds.size(), 5u);
    EXPECT_NEAR(rounds[0].seconds, 10, 1e-6);
  }
}

TEST(WbspTimeouts, AWorkerMissingForGoodDoesNotInflateTheMean) {
  for (const bool is_overlapped : {false, true}) {
    ClusterOptions options = Workers(is_overlapped);
    options.absences = {
        {.worker = 3, .from_seconds = 20.5, .until_seconds = {}, .is_silent = true}};
    options.steps_max = 30;
    const std::vector<double> means = MeansOf(Play(options));
    ASSERT_EQ(means.size(), 30u);
    EXPECT_NEAR(means[19], 1, 1e-6);
    // The round after the one that ran out of time begins in the middle of the others' steps.
    for (size_t i = 20; i < 30; ++i) {
      EXPECT_LE(means[i], 1 + 1e-6) << i;
      EXPECT_GE(means[i], 0.8 - 1e-6) << i;
    }
  }
}

TEST(WbspTimeouts, WhenAllBecomeSlowerAllAreWaitedForAgainSoon) {
  for (const bool is_overlapped : {false, true}) {
    for (const double slower : {5.0, 8.0, 40.0}) {
      ClusterOptions options = Workers(is_overlapped, 1, 0.01);
      for (simulator::ComputeModel& worker : options.workers) worker.changes = {{20.5, slower}};
      options.steps_max = 40;
      const Played played = Play(options);
      const std::vector<Round> rounds = RoundsOf(played);
      ASSERT_EQ(rounds.size(), 40u);
      for (size_t i = 25; i < 40; ++i)
        EXPECT_EQ(rounds[i].steps.size(), kWorkers) << slower << " round " << i;
      EXPECT_NEAR(MeansOf(played).back(), 1.03 * slower, 0.1 * slower);
    }
  }
}

TEST(WbspTimeouts, AWorkerThatHangsForAnHourNowAndThenHoldsTheOthersUpForOneRound) {
  constexpr int kTimes = 3;
  constexpr double kPeriod = 3700, kFirst = 100;
  ClusterOptions options = Workers(false);
  for (int time = 0; time < kTimes; ++time) {
    const double at = kFirst + kPeriod * time;
    options.workers[3].changes.push_back({at - 0.5, 3600});
    options.workers[3].changes.push_back({at + 2, 1});
  }
  options.seconds_max = kFirst + kPeriod * kTimes;
  const Played played = Play(options);
  const std::vector<double> means = MeansOf(played);
  const std::vector<Round> rounds = RoundsOf(played);
  ASSERT_EQ(means.size(), rounds.size());
  std::vector<size_t> count(kTimes);
  std::vector<double> mean(kTimes);  // At the end of each period.
  double now = 0;
  for (size_t i = 0; i < rounds.size(); ++i) {
    now += rounds[i].seconds;
    const auto time = static_cast<size_t>((now - kFirst) / kPeriod);
    if (now < kFirst || time >= kTimes) continue;
    ++count[time];
    mean[time] = means[i];
  }
  for (int time = 0; time < kTimes; ++time) {
    EXPECT_LT(mean[time], 1.01) << time;
    EXPECT_GT(count[time], 3690u) << time;
  }
}

}  // namespace
}  // namespace paceline::papers
