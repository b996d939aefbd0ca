#include "simulator/driver/cluster.h"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/trace/replay.h"
#include "simulator/driver/testing.h"

namespace paceline::simulator {
namespace {

using namespace testing;

TEST(Simulate, BspWaitsForTheSlowestAndStepsAsGradientDescentDoes) {
  ClusterOptions options = Of("BSP", {1, 1, 0.5, 2});
  options.objective = {.dimensions = 6, .noise = 0};
  options.learning_rate = 0.3;
  options.momentum = 0.5;
  const Life life = Lived(options);
  ASSERT_EQ(life.versions.size(), 50u);
  EXPECT_EQ(life.ending, Ending::kSteps);
  EXPECT_DOUBLE_EQ(MeanStep(life), 2);
  EXPECT_EQ(life.pushes, 200u);
  EXPECT_EQ(life.dropped, 0u);
  EXPECT_DOUBLE_EQ(life.compute_seconds, 50 * (1 + 1 + 2 + 0.5));

  // A noise of 2 F remains, which the mean over a step's samples has as often as they say.
  Quadratic objective(options.objective);
  Values at = objective.Start();
  MomentumStep step(options.momentum);
  std::vector<RandomStream> chances;
  for (uint64_t i = 0; i < 4; ++i) chances.emplace_back(options.seed, "gradient", i);
  for (const VersionFacts& version : life.versions) {
    Values mean(6), gradient;
    for (RandomStream& chance : chances) {
      objective.Gradient(at, 10, chance, gradient);
      for (size_t j = 0; j < 6; ++j) mean[j] += gradient[j] / 4;
    }
    step.Apply(mean, options.learning_rate, at);
    ASSERT_NEAR(version.loss, objective.Loss(at), 1e-12 * objective.Loss(at) + 1e-15);
    EXPECT_EQ(version.pushes, 4u);
  }
}

TEST(Simulate, BackupWorkersDoNotWaitForTheSlowest) {
  const Life life = Lived(Of("BackupWorkers backup=1", {1, 1, 0.25, 2}));
  EXPECT_NEAR(MeanStep(life), 1, 0.05);
  EXPECT_EQ(life.versions.back().pushes, 3u);
  EXPECT_GT(life.dropped, 5u);
  EXPECT_NEAR(life.wasted_seconds, 4.0 * static_cast<double>(life.dropped), 1e-6);
}

TEST(Simulate, WithoutABarrierEachPushesAsItsSpeedIs) {
  const Life life = Lived(Of("ASP", {1, 1, 0.25, 2}));
  EXPECT_NEAR(MeanStep(life), 1 / 4.25, 0.02);
}

TEST(Simulate, PullsAndPushesTakeTheirTime) {
  ClusterOptions options = Of("BSP", {1, 1});
  options.network = {.latency_seconds = 0.01, .server_bytes_per_second = 1000, .bytes = 100};
  options.commit_seconds = 0.05;
  const Life life = Lived(options);
  // Two transfers of 100 bytes at once, both ways.
  EXPECT_NEAR(MeanStep(life), 1 + 2 * (0.01 + 0.2) + 0.05, 1e-6);
  EXPECT_NEAR(life.transfer_seconds, 50 * 2 * 2 * 0.21, 1e-3);
}

TEST(Simulate, CommitsFollowOneAnother) {
  ClusterOptions options = Of("ASP", {1, 1, 1, 1, 1, 1, 1, 1});
  options.commit_seconds = 0.5;
  options.steps_max = 100;
  EXPECT_NEAR(MeanStep(Lived(options)), 0.5, 0.02);
}

TEST(Simulate, AnInterruptFreesAWorkerAfterItsTime) {
  ClusterOptions options =
      Of("DBW dbw-method=blind dbw-warm-up=2 dbw-late=interrupt", {1, 1, 1, 0.1});
  std::vector<std::string> ends;
  options.trace = [&ends](std::string_view line) {
    if (line.find(" abandon w3") != std::string_view::npos ||
        line.find(" push w3") != std::string_view::npos)
      ends.emplace_back(line.substr(0, line.find(" based-on")));
  };
  options.interrupt_seconds = 0.25;
  const Life life = Lived(options);
  // Two steps of all workers; then w3 gives up each step after a second, or what is left of it,
  // when the three others have pushed.
  ASSERT_GE(ends.size(), 49u);
  EXPECT_EQ(ends[0], "@10 push w3 #1");
  EXPECT_EQ(ends[1], "@20 push w3 #2");
  EXPECT_EQ(ends[2], "@21.25 abandon w3 #3 interrupted");
  EXPECT_EQ(ends[3], "@22.25 abandon w3 #4 interrupted");
  EXPECT_EQ(ends[4], "@23.25 abandon w3 #5 interrupted");
  EXPECT_EQ(life.interrupted, 48u);
  EXPECT_EQ(life.dropped, 0u);
  EXPECT_EQ(life.versions.back().pushes, 3u);
  EXPECT_NEAR(life.wasted_seconds, 1 + 47 * 0.75, 1e-6);
}

// Others take over what it was interrupted in, or was too late with: an epoch of 400 samples is as
// many versions as its samples need, and there is no time in which all wait for the slow one.
TEST(Simulate, SamplesOfASlowWorkerAreCountedWithTheirEpoch) {
  for (const char* policy :
       {"DBW dbw-method=blind dbw-warm-up=2 dbw-late=interrupt", "BackupWorkers backup=1",
        "BackupWorkers backup=1 late-worker=leave"}) {
    SCOPED_TRACE(policy);
    ClusterOptions options = Of(policy, {1, 1, 1, 0.1});
    options.train_samples = 400;
    options.steps_max = 100;
    const Life life = Lived(options);
    EXPECT_GE(life.epochs, 6u);  // 30 samples a version, two epochs open at most.
    EXPECT_LT(life.seconds, 125);
  }
}

TEST(Simulate, EqualOptionsGiveAnEqualLife) {
  ClusterOptions options = Of("DBW", {1, 1, 0.5, 2, 1, 1});
  for (ComputeModel& worker : options.workers) worker.jitter = Exponential{1};
  options.network = {.latency_seconds = 0.001, .server_bytes_per_second = 1e6, .bytes = 1e4};
  const auto trace_of = [&options] {
    std::string text;
    options.trace = [&text](std::string_view line) { (text += line) += '\n'; };
    Lived(options);
    return text;
  };
  const std::string first = trace_of();
  EXPECT_EQ(trace_of(), first);
  options.seed = 2;
  EXPECT_NE(trace_of(), first);
}

TEST(Simulate, ItsTraceReplaysAsAServersDoes) {
  for (const char* policy : {"BSP",
                             "SSP staleness=1",
                             "ASP",
                             "BackupWorkers backup=2",
                             "DBW",
                             "DBW dbw-late=interrupt",
                             "DBW dbw-method=noise-scale",
                             "KAsync quorum=3",
                             "KBatchAsync quorum=2",
                             "Auto",
                             "Auto late-worker=offer",
                             "BSP sizing=EMA",
                             "DBW sizing=NARX",
                             "WBSP",
                             "WBSP basic",
                             "WBSP trigger=designated late-push=drop",
                             "WBSP on-pull=overwrite momentum=reset",
                             "DBW dbw-method=blind meanwhile=local-steps",
                             "BackupWorkers meanwhile=local-steps",
                             "PSPlus staleness=unbounded",
                             "PSPlus staleness=1 depth=2",
                             "BSP meanwhile=eager-pull reach=1",
                             "BackupWorkers backup=2 meanwhile=eager-pull reach=2"}) {
    SCOPED_TRACE(policy);
    ClusterOptions options = Of(policy, {1, 1, 0.5, 2, 1, 1});
    for (ComputeModel& worker : options.workers) worker.jitter = ShiftedExponential{0.5, 0.5};
    options.learning_rate = 0.2;
    options.steps_max = 120;
    std::string text;
    options.trace = [&text](std::string_view line) { (text += line) += '\n'; };
    const Life life = Lived(options);
    EXPECT_LT(life.versions.back().loss, 0.3);
    const StatusOr<sync::ReplayResult> replayed = sync::Replay(text);
    ASSERT_TRUE(replayed.ok()) << replayed.status();
    EXPECT_FALSE(replayed->difference)
        << replayed->difference->recorded << " / " << replayed->difference->replayed;
    EXPECT_GT(replayed->decisions, 200u);
  }
}

// What NARX looks at besides past speeds.
TEST(Simulate, APushTellsTheShareOfTheProcessorThatSlowPhasesLeave) {
  ClusterOptions options = Of("BSP sizing=NARX", {1, 1});
  options.workers[0].slow_phases = SlowPhases{4, 6, 6};
  std::string text;
  options.trace = [&text](std::string_view line) { (text += line) += '\n'; };
  Lived(options);
  std::istringstream lines(text);
  int full = 0, quarter = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool tells = line.find(" cpu=") != std::string::npos;
    EXPECT_EQ(tells, line.find(" push w0 ") != std::string::npos) << line;
    full += line.find(" cpu=1") != std::string::npos;
    quarter += line.find(" cpu=0.25") != std::string::npos;
  }
  EXPECT_GT(full, 5);
  EXPECT_GT(quarter, 5);
}

TEST(Simulate, EndsAtItsTargetItsTimeOrWhereItDiverges) {
  ClusterOptions options = Of("BSP", {1, 1});
  options.steps_max = 100'000;
  options.target_loss = 0.5;
  const Life at_target = Lived(options);
  EXPECT_EQ(at_target.ending, Ending::kTarget);
  EXPECT_LE(at_target.versions.back().loss, 0.5);
  EXPECT_GT(at_target.versions[at_target.versions.size() - 2].loss, 0.5);

  options.target_loss = 0;
  options.seconds_max = 30;
  const Life in_time = Lived(options);
  EXPECT_EQ(in_time.ending, Ending::kSeconds);
  EXPECT_DOUBLE_EQ(in_time.seconds, 30);

  options.seconds_max = 0;
  options.learning_rate = 3;
  EXPECT_EQ(Lived(options).ending, Ending::kDiverged);
  // Long before its numbers are none any more.
  options.learning_rate = 2.2;
  const Life slowly = Lived(options);
  EXPECT_EQ(slowly.ending, Ending::kDiverged);
  EXPECT_LT(slowly.versions.back().loss, 1e5);
}

TEST(Simulate, TheRateFollowsItsSchedule) {
  ClusterOptions options = Of("BSP", {1, 1});
  options.objective = {.dimensions = 1, .start_loss = 1, .noise = 0};
  options.learning_rate = 0.5;
  options.schedule.kind = optim::ScheduleKind::kStep;
  options.schedule.step_samples = 3 * 20;
  options.schedule.step_factor = 0.1;
  options.steps_max = 7;
  const std::vector<VersionFacts> versions = Lived(options).versions;
  Quadratic objective(options.objective);
  Values at = objective.Start(), mean, other;
  RandomStream first(options.seed, "gradient", 0), second(options.seed, "gradient", 1);
  for (size_t i = 0; i < versions.size(); ++i) {
    objective.Gradient(at, 10, first, mean);
    objective.Gradient(at, 10, second, other);
    const double rate = i < 3 ? 0.5 : i < 6 ? 0.05 : 0.005;
    at[0] -= rate * (mean[0] + other[0]) / 2;
    ASSERT_NEAR(versions[i].loss, objective.Loss(at), 1e-12) << i;
  }
}

// In the place of the quadratic: says how often it was asked, and fails when it is told to.
class Asked final : public Objective {
 public:
  Values Begin(uint64_t seed) override {
    this->seed = seed;
    return {8, 8};
  }
  double Loss(const Values& at) override {
    ++losses;
    return at[0];
  }
  double Gradient(const Values&, std::span<const EpochRange> asked, RandomStream&,
                  Values& gradient) override {
    for (const EpochRange& range : asked) samples += range.end - range.begin;
    ++gradients;
    gradient = {0.1, 0};
    if (gradients == fails_at) status_ = Internal("out of order");
    return 0;
  }
  const Status& status() const override { return status_; }

  uint64_t seed = 0, losses = 0, gradients = 0, samples = 0, fails_at = 0;

 private:
  Status status_ = OkStatus();
};

TEST(Simulate, AnObjectiveIsAskedForGradientsOnceAPushAndForItsLossAsOftenAsIsSaid) {
  for (const uint32_t every : {1u, 4u}) {
    ClusterOptions options = Of("ASP", {1, 1, 0.5, 2});
    Asked objective;
    options.model = &objective;
    options.seed = 7;
    options.learning_rate = 1;
    options.loss_every_pushes = every;
    options.steps_max = 101;
    const Life life = Lived(options);
    EXPECT_EQ(objective.seed, 7u);
    EXPECT_EQ(objective.gradients, life.pushes);
    EXPECT_EQ(objective.samples, 10 * life.pushes);
    EXPECT_EQ(objective.losses, 1 + (100 / every) + 1);  // Of the start, too.
    ASSERT_EQ(life.versions.size(), 101u);
    for (size_t i = 1; i < life.versions.size(); ++i) {
      if (i % every == 0) {
        EXPECT_LT(life.versions[i].loss, life.versions[i - 1].loss) << i;
      } else {
        EXPECT_EQ(life.versions[i].loss, life.versions[i - 1].loss) << i;
      }
    }
  }
}

// As an evaluator does, which begins anew once so much time has passed.
TEST(Simulate, TheLossIsLookedAtNowAndThen) {
  ClusterOptions options = Of("BSP", {1});  // A version a second.
  Asked objective;
  options.model = &objective;
  options.learning_rate = 1;
  options.loss_every_seconds = 2.5;
  options.steps_max = 10;
  const Life life = Lived(options);
  EXPECT_EQ(objective.losses, 1u + 4);  // Of the start; after 1, 4, 7 and 10 s.
  EXPECT_EQ(life.versions[2].loss, life.versions[0].loss);
  EXPECT_LT(life.versions[3].loss, life.versions[2].loss);
  // Who is at the goal is so when somebody looks.
  options.target_loss = 7.75;
  EXPECT_EQ(Lived(options).seconds, life.versions[3].at_seconds);
}

TEST(Simulate, EndsAfterItsEpochs) {
  ClusterOptions options = Of("BSP", {1, 1});
  options.train_samples = 70;  // Three and a half versions.
  options.epochs_max = 2;
  const Life life = Lived(options);
  EXPECT_EQ(life.ending, Ending::kSteps);
  EXPECT_EQ(life.epochs, 2u);
  EXPECT_LT(life.versions.size(), 10u);
}

TEST(Simulate, AnObjectiveThatFailsEndsTheLife) {
  ClusterOptions options = Of("BSP", {1, 1});
  Asked objective;
  objective.fails_at = 5;
  options.model = &objective;
  const StatusOr<Life> life = Simulate(options);
  ASSERT_FALSE(life.ok());
  EXPECT_EQ(Message(life.status()), "out of order");
  EXPECT_EQ(objective.gradients, 5u);
}

}  // namespace
}  // namespace paceline::simulator
