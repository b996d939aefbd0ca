// The scheme that chooses by itself, in whole lives: what it leaves, what it comes back to, and
// what it never does.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/trace/replay.h"
#include "simulator/driver/testing.h"

namespace paceline::simulator {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

// A life with what its policy chose, line by line.
struct Told {
  Life life;
  std::string trace;
  std::string chosen;
};

Told Tell(ClusterOptions options) {
  Told told;
  options.trace = [&told](std::string_view line) {
    (told.trace += line) += '\n';
    if (line.find(" chosen ") != line.npos) (told.chosen += line) += '\n';
  };
  told.life = Lived(options);
  return told;
}

ClusterOptions Auto(const std::vector<double>& speeds, const std::string& more = "") {
  ClusterOptions options = Of("Auto" + more, speeds);
  options.learning_rate = 0.5;
  options.objective.noise = 0.001;
  options.steps_max = 100;
  return options;
}

std::vector<double> OneSlow() { return {1, 1, 1, 1, 1, 1, 1, 0.25}; }

std::vector<double> HalfSlow() { return {1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5}; }

double SecondsOf(ClusterOptions options, const std::string& policy, double target) {
  const auto batch = options.policy.global_batch_size;
  options.policy = *sync::ParsePolicySpec(policy);
  options.policy.global_batch_size = batch;
  options.target_loss = target;
  options.steps_max = 5000;
  const Life life = Lived(options);
  EXPECT_EQ(life.ending, Ending::kTarget) << policy;
  return life.seconds;
}

TEST(Auto, IsBspWhereWorkersAreAlike) {
  const Told told = Tell(Auto(std::vector<double>(8, 1.0)));
  for (const VersionFacts& version : told.life.versions) ASSERT_EQ(version.pushes, 8u);
  EXPECT_EQ(told.chosen, "");
  EXPECT_NEAR(told.life.seconds, 100, 1e-6);
}

TEST(Auto, LeavesAStragglerOut) {
  const Told told = Tell(Auto(OneSlow()));
  ASSERT_EQ(told.life.versions.size(), 100u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(told.life.versions[i].pushes, 8u) << i;
  EXPECT_EQ(told.life.versions[10].pushes, 7u);
  EXPECT_LT(MeanStep(told.life), 1.15);
  EXPECT_THAT(told.chosen, HasSubstr("chosen barrier pushes=7 reason=faster"));
  EXPECT_THAT(told.chosen, HasSubstr("reason=measured"));
}

TEST(Auto, WhereGradientsAreNoiseNobodyWaits) {
  ClusterOptions options = Auto(HalfSlow());
  options.objective.noise = 50;
  options.learning_rate = 0.05;
  EXPECT_THAT(Tell(options).chosen, HasSubstr("chosen async pushes=2 reason=faster"));
}

TEST(Auto, WithMomentumTheBarrierIsKept) {
  ClusterOptions options = Auto(HalfSlow(), " barrier-kept");
  options.objective.noise = 50;
  options.learning_rate = 0.05;
  const Told told = Tell(options);
  EXPECT_THAT(told.chosen, HasSubstr("chosen barrier"));
  EXPECT_THAT(told.chosen, Not(HasSubstr("async")));
}

// A step that takes for ever ends no worker: nobody else would ever find out.
TEST(Auto, ARoundThatHangsIsLeft) {
  ClusterOptions options = Auto(std::vector<double>(8, 1.0));
  options.workers[3].changes = {{.at_seconds = 30, .factor = 1e6}};
  const Told told = Tell(options);
  EXPECT_THAT(told.chosen, HasSubstr("reason=overdue"));
  double before = 0, longest = 0;
  for (const VersionFacts& version : told.life.versions) {
    longest = std::max(longest, version.at_seconds - before);
    before = version.at_seconds;
  }
  EXPECT_LT(longest, 6);
}

TEST(Auto, FollowsWhatChanges) {
  ClusterOptions options = Auto(std::vector<double>(8, 1.0));
  for (size_t i = 0; i < 4; ++i)
    options.workers[i].changes = {{.at_seconds = 40, .factor = 5},
                                  {.at_seconds = 100, .factor = 1}};
  options.steps_max = 240;
  const Told told = Tell(options);
  const auto pushes_at = [&](double seconds) {
    for (const VersionFacts& version : told.life.versions)
      if (version.at_seconds > seconds) return version.pushes;
    return 0u;
  };
  EXPECT_EQ(pushes_at(38), 8u);
  EXPECT_LT(pushes_at(90), 8u);
  EXPECT_GT(pushes_at(150), pushes_at(90));
}

// In the middle of such a round the barrier looks worse than it is.
TEST(Auto, ARoundThatHangsIsNoReasonToLeaveTheBarrier) {
  ClusterOptions options = Auto(std::vector<double>(8, 1.0));
  options.objective.noise = 50;
  options.learning_rate = 0.05;
  for (const size_t i : {2u, 3u, 4u})
    options.workers[i].changes = {{.at_seconds = 30, .factor = 1e6}};
  const Told told = Tell(options);
  EXPECT_THAT(told.chosen, HasSubstr("reason=overdue"));
  std::istringstream lines(told.chosen);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("reason=overdue") == line.npos) continue;
    EXPECT_THAT(line, HasSubstr("barrier"));
  }
}

// Who has just come is waited for until it is known.
TEST(Auto, AJoinerShowsItsTimesFirst) {
  ClusterOptions options = Auto(OneSlow());
  options.absences = {{.worker = 0, .from_seconds = 0, .until_seconds = 50}};
  const Told told = Tell(options);
  EXPECT_THAT(told.chosen, HasSubstr("chosen barrier pushes=6 reason=faster"));
  EXPECT_THAT(told.chosen, HasSubstr("chosen barrier pushes=8 reason=members"));
  EXPECT_THAT(told.chosen, HasSubstr("chosen barrier pushes=7 reason=faster"));
}

// At this rate training without a barrier diverges, and with one it does not.
TEST(Auto, ComesBackFromWhatDiverges) {
  ClusterOptions options = Auto(HalfSlow());
  options.learning_rate = 1.6;
  options.objective.noise = 0.05;
  options.steps_max = 3000;
  options.seconds_max = 1000;
  const Told told = Tell(options);
  EXPECT_NE(told.life.ending, Ending::kDiverged);
  EXPECT_LT(told.life.versions.back().loss, 0.05);
}

// Two samples of each worker: whole steps of two of eight pushes diverge.
TEST(Auto, ArrivesWhereStepsOfFewPushesDiverge) {
  ClusterOptions options = Auto(std::vector<double>(8, 1.0));
  options.policy.global_batch_size = 16;
  options.objective.dimensions = 64;
  options.learning_rate = 1.5;
  for (ComputeModel& worker : options.workers) {
    worker.per_sample_seconds = 0.5;
    worker.jitter = ShiftedExponential{0, 1};
  }
  for (options.seed = 1; options.seed <= 6; ++options.seed) {
    ClusterOptions few = options;
    few.policy = *sync::ParsePolicySpec("BackupWorkers batch=16 backup=6 late-worker=interrupt");
    few.target_loss = 0.02;
    few.steps_max = 5000;
    EXPECT_NE(Lived(few).ending, Ending::kTarget) << options.seed;
    EXPECT_LT(SecondsOf(options, "Auto", 0.02), 0.6 * SecondsOf(options, "BSP", 0.02))
        << options.seed;
  }
}

TEST(Auto, IsFasterThanBspOnClustersOfEachKind) {
  ClusterOptions jitter = Auto(std::vector<double>(8, 1.0));
  for (ComputeModel& worker : jitter.workers) worker.jitter = ShiftedExponential{0, 1};
  ClusterOptions spikes = Auto(std::vector<double>(8, 1.0));
  for (ComputeModel& worker : spikes.workers) worker.spike_probability = 0.05;
  for (const auto& [options, times] :
       {std::pair{Auto(OneSlow()), 2.5}, std::pair{jitter, 2.0}, std::pair{spikes, 2.0}}) {
    const double target = 0.01;
    EXPECT_GT(SecondsOf(options, "BSP", target) / SecondsOf(options, "Auto", target), times);
  }
}

TEST(Auto, ItsLivesReplay) {
  for (const double noise : {0.001, 50.0}) {
    ClusterOptions options = Auto(OneSlow());
    options.objective.noise = noise;
    for (ComputeModel& worker : options.workers) worker.jitter = ShiftedExponential{0.5, 0.5};
    options.absences = {{.worker = 2, .from_seconds = 20, .until_seconds = 60}};
    const StatusOr<sync::ReplayResult> replayed = sync::Replay(Tell(options).trace);
    ASSERT_TRUE(replayed.ok()) << replayed.status();
    EXPECT_FALSE(replayed->difference)
        << replayed->difference->recorded << " / " << replayed->difference->replayed;
  }
}

}  // namespace
}  // namespace paceline::simulator
