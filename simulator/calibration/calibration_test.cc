// Recordings of simulated lives, whose clusters are known.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/calibration/fit.h"
#include "simulator/calibration/recording.h"
#include "simulator/calibration/scenario_text.h"
#include "simulator/driver/testing.h"
#include "simulator/scenario/scenario.h"

namespace paceline::simulator {
namespace {

using ::testing::HasSubstr;
using testing::Lived;
using testing::MeanStep;
using testing::Of;

struct Recorded {
  Life life;
  std::string trace;
};

Recorded Record(ClusterOptions options) {
  Recorded recorded;
  options.trace = [&](std::string_view line) { recorded.trace.append(line).push_back('\n'); };
  recorded.life = Lived(options);
  return recorded;
}

// Three workers as different as a shared cluster's.
ClusterOptions Different(const std::string& policy) {
  ClusterOptions options = Of(policy, {1, 0.5, 0.25});
  for (ComputeModel& worker : options.workers) {
    worker.fixed_seconds = 0.5;
    worker.jitter = Lognormal{1, 0.3};
  }
  options.network.latency_seconds = 0.02;
  options.commit_seconds = 0.03;
  options.steps_max = 600;
  return options;
}

FittedCluster Fitted(const std::string& trace) {
  const auto recording = ReadRecording(trace);
  EXPECT_TRUE(recording.ok()) << recording.status();
  const auto cluster = Fit(recording.value());
  EXPECT_TRUE(cluster.ok()) << cluster.status();
  return cluster.value();
}

TEST(Calibration, FindsSpeedsLinksAndCommits) {
  const FittedCluster cluster = Fitted(Record(Different("BSP")).trace);
  ASSERT_EQ(cluster.workers.size(), 3u);
  EXPECT_EQ(cluster.workers[0].speed, 1);
  EXPECT_NEAR(cluster.workers[1].speed, 0.5, 0.02);
  EXPECT_NEAR(cluster.workers[2].speed, 0.25, 0.01);
  EXPECT_NEAR(cluster.fixed_seconds + 10 * cluster.per_sample_seconds, 1.5, 0.05);
  EXPECT_NEAR(cluster.latency_seconds, 0.02, 1e-6);
  EXPECT_NEAR(cluster.commit_seconds, 0.03, 1e-6);
  for (const FittedWorker& worker : cluster.workers) {
    EXPECT_EQ(worker.jitter.size(), kJitterMax);
    EXPECT_TRUE(std::ranges::is_sorted(worker.jitter));
    EXPECT_TRUE(worker.absences.empty());
    EXPECT_TRUE(worker.changes.empty());
  }
}

// As a trace of a long run is: its middle third is missing.
TEST(Calibration, AGapTakesNoTimeAndChangesNothing) {
  const std::string whole = Record(Different("BSP")).trace;
  const size_t from = whole.find("\n@", whole.size() / 3) + 1;
  const size_t to = whole.find("\n@", 2 * whole.size() / 3) + 1;
  const std::string policy = whole.substr(0, whole.find('\n') + 1);
  std::string joins;
  for (const char* const worker : {"w0", "w1", "w2"})
    joins += fmt::format("{} join {}\n", whole.substr(to, whole.find(' ', to) - to), worker);
  const std::string cut = whole.substr(0, from) + "gap 1..4\n" + policy + joins + whole.substr(to);
  const Recording all = ReadRecording(whole).value(), some = ReadRecording(cut).value();
  EXPECT_EQ(some.gaps, 1u);
  EXPECT_EQ(some.policies, all.policies);
  EXPECT_NEAR(static_cast<double>(some.versions), 2 * static_cast<double>(all.versions) / 3, 20);
  EXPECT_NEAR(some.seconds / static_cast<double>(some.versions),
              all.seconds / static_cast<double>(all.versions), 0.05);
  const FittedCluster cluster = Fitted(cut);
  ASSERT_EQ(cluster.workers.size(), 3u);
  EXPECT_NEAR(cluster.workers[1].speed, 0.5, 0.02);
  EXPECT_NEAR(cluster.workers[2].speed, 0.25, 0.01);
  for (const FittedWorker& worker : cluster.workers) {
    EXPECT_TRUE(worker.absences.empty());
    EXPECT_TRUE(worker.changes.empty());
  }
}

// Two workers become slow at once, one of them for good.
ClusterOptions Changing(const std::string& policy) {
  ClusterOptions options = Different(policy);
  options.workers[1].changes = {{.at_seconds = 100, .factor = 6}};
  options.workers[2].changes = {{.at_seconds = 100, .factor = 3}, {.at_seconds = 400, .factor = 1}};
  options.steps_max = 150;
  return options;
}

TEST(Calibration, FindsSlownessThatLasts) {
  const FittedCluster cluster = Fitted(Record(Changing("BSP")).trace);
  EXPECT_TRUE(cluster.workers[0].changes.empty());
  const std::vector<FittedChange>& once = cluster.workers[1].changes;
  ASSERT_EQ(once.size(), 2u);
  EXPECT_EQ(once[0].at_seconds, 0);
  EXPECT_NEAR(once[0].factor / cluster.workers[1].speed, 2, 0.2) << "it begins at half the speed";
  EXPECT_NEAR(once[1].at_seconds, 100, 10);
  EXPECT_NEAR(once[1].factor / once[0].factor, 6, 0.6);
  EXPECT_LE(once[1].jitter.size(), 16u);
  const std::vector<FittedChange>& and_back = cluster.workers[2].changes;
  ASSERT_EQ(and_back.size(), 3u);
  EXPECT_NEAR(and_back[1].at_seconds, 100, 10);
  EXPECT_NEAR(and_back[2].at_seconds, 400, 25) << "steps take 20 s then";
  EXPECT_NEAR(and_back[2].factor / and_back[0].factor, 1, 0.15);
}

// The first step of a process loads and compiles; the change did not come later for that.
TEST(Calibration, ASlowStartPutsNoChangeOff) {
  Recording recording;
  recording.workers.resize(1);
  double now = 0;
  for (int i = 0; i < 40; ++i) {
    const double compute = i < 20 ? 1 : 5;
    now += i == 0 ? 30 : compute + 0.5;
    recording.workers[0].pushes.push_back({10, 1, i == 0 ? 29.5 : compute, 0.25, Seconds(now)});
  }
  const FittedCluster cluster = Fit(recording).value();
  ASSERT_EQ(cluster.workers[0].changes.size(), 2u);
  // The 21st step would have begun then, had the first one been as the others.
  EXPECT_NEAR(cluster.workers[0].changes[1].at_seconds, 20 * 1.5, 1.5);
  EXPECT_NEAR(cluster.workers[0].changes[1].factor / cluster.workers[0].changes[0].factor, 5, 1e-6);
}

// Only batches of different sizes tell what a step costs beyond its samples.
TEST(Calibration, FindsWhatAStepCostsBeyondItsSamples) {
  ClusterOptions options = Different("BSP sizing=EMA");
  for (ComputeModel& worker : options.workers) worker.jitter = Lognormal{1, 0.05};
  const FittedCluster cluster = Fitted(Record(options).trace);
  EXPECT_NEAR(cluster.fixed_seconds, 0.5, 0.1);
  EXPECT_NEAR(cluster.per_sample_seconds, 0.1, 0.01);
}

TEST(Calibration, AStepMayCostTheSameWhateverItsSamples) {
  Recording recording;
  recording.workers.resize(1);
  for (uint32_t i = 0; i < 40; ++i)
    recording.workers[0].pushes.push_back({i % 2 == 0 ? 10u : 20u, 1, 0.5, 0.01});
  const FittedCluster cluster = Fit(recording).value();
  EXPECT_NEAR(cluster.fixed_seconds, 0.5, 0.001);
  EXPECT_LT(cluster.per_sample_seconds, 1e-4);
}

// The other way round: what was found is simulated, and takes as long.
void ExpectTakesAsLong(ClusterOptions (*cluster_of)(const std::string& policy), uint64_t steps,
                       double share) {
  const Recorded bsp = Record(cluster_of("BSP"));
  const Recording recording = ReadRecording(bsp.trace).value();
  const std::string text =
      ScenarioText(recording, Fitted(bsp.trace), R"({"scheme": "BSP"})", "run.trace");
  const LoadedScenario loaded = LoadScenario(text);
  ASSERT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front()) << text;
  EXPECT_EQ(loaded.scenario.arms.front().name, "recorded");
  size_t compared = 0;
  for (const Arm& arm : loaded.scenario.arms) {
    for (const auto& [name, policy] : {std::pair("recorded", "BSP"), std::pair("asp", "ASP")}) {
      if (arm.name != name) continue;
      ClusterOptions options = OptionsOf(loaded.scenario, arm, 1);
      options.target_loss = 0;
      options.steps_max = steps;
      const double live = MeanStep(Record(cluster_of(policy)).life);
      EXPECT_NEAR(MeanStep(Lived(options)), live, share * live) << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 2u);
}

TEST(Calibration, WhatIsFoundTakesAsLongUnderThatSchemeAndOthers) {
  ExpectTakesAsLong(Different, 600, 0.05);
}

TEST(Calibration, SlownessThatLastsTakesAsLongUnderThatSchemeAndOthers) {
  ExpectTakesAsLong(Changing, 150, 0.08);
}

TEST(Calibration, FindsWhoWasAwayAndForHowLong) {
  ClusterOptions options = Different("BSP");
  options.absences = {{.worker = 1, .from_seconds = 100, .until_seconds = 130},
                      {.worker = 2, .from_seconds = 200, .until_seconds = {}}};
  const Recorded recorded = Record(options);
  const FittedCluster cluster = Fitted(recorded.trace);
  ASSERT_EQ(cluster.workers[1].absences.size(), 1u);
  EXPECT_NEAR(ToSeconds(cluster.workers[1].absences[0].from), 100, 1);
  ASSERT_TRUE(cluster.workers[1].absences[0].lasting.has_value());
  EXPECT_NEAR(ToSeconds(*cluster.workers[1].absences[0].lasting), 30, 1);
  ASSERT_EQ(cluster.workers[2].absences.size(), 1u);
  EXPECT_FALSE(cluster.workers[2].absences[0].lasting.has_value());
  const std::string text = ScenarioText(ReadRecording(recorded.trace).value(), cluster, "", "x");
  EXPECT_THAT(text, HasSubstr("returnsAfterSeconds: 30"));
  EXPECT_TRUE(LoadScenario(text).errors.empty()) << text;
}

// As where a worker is back when it is found to be silent.
TEST(Calibration, WhoIsBackAtOnceWasAwayForAMoment) {
  Recording recording;
  recording.batch = 20;
  recording.workers.resize(2);
  for (RecordedWorker& worker : recording.workers) {
    for (int i = 0; i < 10; ++i) worker.pushes.push_back({10, 1, 0.5, 0.01});
  }
  recording.workers[1].absences = {{Seconds(3), Duration{}, true}};
  const std::string text = ScenarioText(recording, Fit(recording).value(), "", "x");
  const LoadedScenario loaded = LoadScenario(text);
  EXPECT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front()) << text;
}

// Whatever a scheme makes of it.
TEST(Calibration, FindsTheSchedulesRate) {
  for (const char* policy : {"BSP", "ASP", "WBSP", "KBatchAsync quorum=2"}) {
    ClusterOptions options = Different(policy);
    options.learning_rate = 0.25;
    options.steps_max = 50;
    EXPECT_NEAR(ReadRecording(Record(options).trace).value().learning_rate, 0.25, 1e-9) << policy;
  }
}

TEST(Calibration, KnowsWhatOfComputingWasInjected) {
  const Recording recording =
      ReadRecording(
          "policy BSP batch=8 workers=1\n@0 join w0\n@1 push w0 #1 based-on=v0 samples=8 "
          "compute=0.75 injected=0.5\n  commit scale=1\n@2 committed v1 rate=0.125\n")
          .value();
  EXPECT_EQ(recording.workers[0].pushes[0].compute, 0.75);
  EXPECT_EQ(recording.workers[0].pushes[0].injected, 0.5);
}

TEST(Calibration, TellsAChangeOfPolicyFromAServerThatCameBack) {
  const std::string one =
      "policy BSP batch=8 workers=1\n@0 join w0\n@1 push w0 #1 based-on=v0 samples=8\n"
      "  commit scale=1\n@2 committed v1 rate=0.125\n";
  const std::string back = "policy BSP batch=8 workers=2 first-version=v1\n@3 join w0\n";
  const std::string change = "@4 reconfigured SSP batch=8 workers=1\n";
  EXPECT_EQ(ReadRecording(one).value().policies, 1u);
  EXPECT_EQ(ReadRecording(one + back).value().policies, 1u);
  const Recording changed = ReadRecording(one + back + change).value();
  EXPECT_EQ(changed.policies, 2u);
  EXPECT_EQ(changed.policy, "BSP batch=8 workers=1");
  EXPECT_EQ(changed.learning_rate, 0.125);
}

TEST(Calibration, NamesTheLineThatCannotBeRead) {
  EXPECT_THAT(
      Message(ReadRecording("policy BSP batch=8 workers=1\n@0 join w0\n@1 sing w0\n").status()),
      HasSubstr("line 3"));
  EXPECT_THAT(Message(ReadRecording("policy BSP batch=8 workers=1\n@0 join w0\n").status()),
              HasSubstr("nothing was committed"));
  const auto short_one = ReadRecording(
      "policy BSP batch=8 workers=1\n@0 join w0\n@1 push w0 #1 based-on=v0 samples=8 "
      "compute=1\n  commit scale=1\n@2 committed v1\n@3 pu");
  ASSERT_TRUE(short_one.ok()) << short_one.status() << ": a line that is cut off is no error";
  EXPECT_THAT(Message(Fit(*short_one).status()), HasSubstr("too few to say how fast"));
}

}  // namespace
}  // namespace paceline::simulator
