// Workers that crash, return, join late and cannot be reached.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/trace/replay.h"
#include "simulator/driver/testing.h"
#include "simulator/kernel/random_stream.h"

namespace paceline::simulator {
namespace {

using namespace testing;

// At which second each version was published.
std::vector<double> Times(const Life& life) {
  std::vector<double> times;
  for (const VersionFacts& version : life.versions) times.push_back(version.at_seconds);
  return times;
}

TEST(Absences, ABarrierGoesOnOnceACrashIsNoticedAndWaitsForWhoReturns) {
  ClusterOptions options = Of("BSP", {1, 1, 1});
  options.absences = {{.worker = 2, .from_seconds = 2.5, .until_seconds = 9, .is_silent = true}};
  options.silent_seconds = 2;
  options.steps_max = 8;
  const Life life = Lived(options);
  EXPECT_EQ(life.crashes, 1u);
  EXPECT_NEAR(life.wasted_seconds, 0.5, 1e-9);
  // Two of three pushes at 4.5; of 15 samples each then, and of 10 again after the return.
  const std::vector<double> times = Times(life);
  EXPECT_EQ(std::vector<double>(times.begin(), times.begin() + 5),
            (std::vector<double>{1, 2, 4.5, 6, 7.5}));
  EXPECT_EQ(life.versions[2].pushes, 2u);
  EXPECT_EQ(life.versions[3].pushes, 2u);
  EXPECT_EQ(life.versions[7].pushes, 3u);
}

TEST(Absences, WhoJoinsLateWorksFromThenOn) {
  ClusterOptions options = Of("ASP", {1, 1, 1});
  options.absences = {{.worker = 0, .until_seconds = 20.25}};
  std::map<std::string, int> before, after;
  options.trace = [&](std::string_view line) {
    const size_t at = line.find(" push w");
    if (at == std::string_view::npos) return;
    const bool is_before = std::stod(std::string(line.substr(1))) <= 20.25;
    ++(is_before ? before : after)[std::string(line.substr(at + 6, 2))];
  };
  options.seconds_max = 40;
  options.steps_max = 1000;
  const Life life = Lived(options);
  EXPECT_EQ(life.crashes, 0u);
  EXPECT_EQ(before["w0"], 0);
  EXPECT_GT(before["w1"], 12);
  EXPECT_GT(after["w0"], 16);
}

TEST(Absences, AllMayJoinLate) {
  ClusterOptions options = Of("BSP", {1, 1});
  options.absences = {{.worker = 0, .until_seconds = 5}, {.worker = 1, .until_seconds = 5}};
  options.steps_max = 4;
  const Life life = Lived(options);
  EXPECT_GE(life.versions.front().at_seconds, 6);
  EXPECT_EQ(life.versions.back().pushes, 2u);
}

// What it had pulled, and its momentum, are gone: it pulls anew.
TEST(Absences, AReturnedWorkerKnowsNothing) {
  ClusterOptions options = Of("ASP", {1});
  options.network.latency_seconds = 0.25;
  options.absences = {{.worker = 0, .from_seconds = 4, .until_seconds = 10}};
  options.steps_max = 4;
  // Pull, step, push: 1.5 s each. The third step is lost.
  EXPECT_EQ(Times(Lived(options)), (std::vector<double>{1.5, 3, 11.5, 13}));
}

TEST(Absences, AnOutageHoldsUpTransfersAndALongOneEndsTheSession) {
  ClusterOptions options = Of("BSP", {1, 1});
  options.outages = {{.worker = 1, .from_seconds = 2.5, .until_seconds = 4}};
  options.steps_max = 4;
  const Life brief = Lived(options);
  EXPECT_EQ(brief.crashes, 0u);
  EXPECT_EQ(Times(brief), (std::vector<double>{1, 2, 4, 5}));
  options.outages = {{.worker = 1, .from_seconds = 2.5, .until_seconds = 40}};
  options.steps_max = 12;
  const Life longer = Lived(options);
  EXPECT_EQ(longer.crashes, 1u);
  // Silent for six seconds; alone after that, with all 20 samples.
  EXPECT_DOUBLE_EQ(longer.versions[2].at_seconds, 8.5);
  EXPECT_DOUBLE_EQ(longer.versions[3].at_seconds, 10.5);
  EXPECT_EQ(longer.versions[3].pushes, 1u);
}

TEST(Absences, WhoReturnsBeforeItsEndIsNoticedJoinsLater) {
  ClusterOptions options = Of("ASP", {1, 1});
  options.absences = {{.worker = 0, .from_seconds = 1.5, .until_seconds = 2, .is_silent = true}};
  options.silent_seconds = 3.25;
  std::vector<std::string> joined;
  options.trace = [&joined](std::string_view line) {
    if (line.find(" join w0") != std::string_view::npos) joined.emplace_back(line);
  };
  options.steps_max = 30;
  Lived(options);
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[1], "@4 join w0");
}

TEST(Absences, OfTwoAtOnceTheLongerHolds) {
  for (const auto& [absent_until, out_until] : {std::pair{20.0, 5.0}, std::pair{4.0, 20.0}}) {
    ClusterOptions options = Of("ASP", {1, 1});
    options.silent_seconds = 1;
    options.absences = {{.worker = 1, .from_seconds = 2.5, .until_seconds = absent_until}};
    options.outages = {{.worker = 1, .from_seconds = 2.25, .until_seconds = out_until}};
    std::vector<std::string> joined;
    options.trace = [&joined](std::string_view line) {
      if (line.find(" join w1") != std::string_view::npos) joined.emplace_back(line);
    };
    options.steps_max = 60;
    EXPECT_EQ(Lived(options).crashes, 1u);
    ASSERT_EQ(joined.size(), 2u);
    EXPECT_EQ(joined[1], "@20 join w1");
  }
}

// --- Random lives.

ClusterOptions RandomLife(uint64_t seed) {
  static const std::vector<std::string> policies = {"BSP",
                                                    "SSP staleness=1",
                                                    "ASP",
                                                    "BackupWorkers backup=1",
                                                    "DBW",
                                                    "DBW dbw-late=interrupt",
                                                    "WBSP",
                                                    "KAsync quorum=2",
                                                    "WBSP basic",
                                                    "PSPlus staleness=1",
                                                    "PSPlus depth=2 staleness=unbounded",
                                                    "BSP meanwhile=eager-pull reach=1",
                                                    "WBSP trigger=designated late-push=drop",
                                                    "BSP sizing=EMA",
                                                    "KBatchAsync quorum=2"};
  RandomStream chance(seed, "lives");
  const auto between = [&chance](double least, double most) {
    return least + (most - least) * chance.Uniform();
  };
  std::vector<double> speeds;
  for (uint64_t left = 2 + chance.Next() % 4; left > 0; --left) speeds.push_back(between(0.3, 2));
  ClusterOptions options = Of(policies[seed % policies.size()], speeds);
  for (ComputeModel& worker : options.workers) worker.jitter = ShiftedExponential{0.5, 0.5};
  options.network.latency_seconds = chance.Next() % 2 == 0 ? 0 : between(0, 0.5);
  options.commit_seconds = chance.Next() % 2 == 0 ? 0 : between(0, 0.2);
  options.interrupt_seconds = between(0, 0.1);
  options.learning_rate = 0.05;
  options.seed = seed;
  // Epochs that a step's samples do not divide.
  options.train_samples = 50 + chance.Next() % 400;
  options.seconds_max = 150;
  options.silent_seconds = between(1, 8);
  options.steps_max = 100'000;
  for (uint32_t worker = 0; worker < speeds.size(); ++worker) {
    double at = 0;
    if (chance.Next() % 4 == 0) {
      at = between(0, 20);
      options.absences.push_back({.worker = worker, .until_seconds = at});
    }
    while ((at += between(1, 60)) < 150) {
      Absence absence{.worker = worker, .from_seconds = at, .until_seconds = at + between(0.1, 10)};
      absence.is_silent = chance.Next() % 2 == 0;
      at = *absence.until_seconds;
      options.absences.push_back(absence);
    }
    for (double out = between(0, 80); out < 150; out += between(1, 80)) {
      const double until = out + between(0, 9);
      options.outages.push_back({worker, out, until});
      out = until;
    }
  }
  return options;
}

TEST(Absences, EverySampleCountsOnceAnEpochInRandomLives) {
  uint64_t crashes = 0, epochs = 0, poisoned = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    ClusterOptions options = RandomLife(seed);
    SCOPED_TRACE(::testing::Message()
                 << "seed " << seed << ' ' << sync::FormatPolicySpec(options.policy));
    std::map<uint64_t, std::vector<int>> counts;  // By epoch, of each position.
    options.counted = [&](const protocol::SampleRange& range) {
      std::vector<int>& of_epoch = counts[range.epoch];
      of_epoch.resize(options.train_samples);
      for (uint64_t i = range.begin; i < range.end; ++i) ++of_epoch.at(i);
    };
    std::string text;
    options.trace = [&text](std::string_view line) { (text += line) += '\n'; };
    const Life life = Lived(options);
    crashes += life.crashes;
    poisoned += life.poisoned;
    ASSERT_GE(counts.size(), 3u);
    const uint64_t newest = counts.rbegin()->first;
    for (const auto& [epoch, of_epoch] : counts) {
      // Two epochs are open at most.
      const bool is_complete = epoch + 2 <= newest;
      for (const int count : of_epoch) ASSERT_LE(count, 1) << epoch;
      const auto left_out = static_cast<uint64_t>(std::ranges::count(of_epoch, 0));
      if (is_complete) {
        ASSERT_LE(left_out, life.poisoned) << epoch;
        ++epochs;
      }
    }
    const StatusOr<sync::ReplayResult> replayed = sync::Replay(text);
    ASSERT_TRUE(replayed.ok()) << replayed.status();
    ASSERT_FALSE(replayed->difference)
        << replayed->difference->recorded << " / " << replayed->difference->replayed;
  }
  EXPECT_GT(crashes, 500u);
  EXPECT_GT(epochs, 1000u);
  EXPECT_LT(poisoned, 100u);  // What crashes twice is not computed a third time.
}

}  // namespace
}  // namespace paceline::simulator
