#include "simulator/scenario/scenario.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

constexpr const char* kWhole = R"(apiVersion: paceline.dev/v1alpha1
kind: Scenario
metadata: {name: mixed}
spec:
  seeds: 3
  firstSeed: 10
  training: {globalBatchSize: 64, learningRate: 0.5, momentum: 0.9}
  stop: {loss: 0.05, steps: 2000, seconds: 1000}
  objective: {dimensions: 8, startLoss: 2, irreducible: 0.5, noise: 0.1}
  cluster:
    compute:
      fixedSeconds: 0.1
      perSampleSeconds: 0.01
      leastSamples: 4
      jitter: {kind: ShiftedExponential, shift: 0.8, mean: 0.2}
      spikes: {probability: 0.02, factor: 12}
    workers:
    - {count: 3}
    - speed: 0.25
      compute:
        jitter: {kind: Empirical, values: [1, 2.5]}
        slowPhases: {factor: 3, fastSeconds: 40, slowSeconds: 10}
        changes: [{atSeconds: 5, factor: 2}, {atSeconds: 9, jitter: {kind: Exponential, mean: 3}}]
    network: {latencySeconds: 0.001, serverBytesPerSecond: 1e9, workerBytesPerSecond: 1e8, bytes: 4e6, pushBytes: 1e6}
    interruptSeconds: 0.02
    commitSeconds: 0.003
  arms:
  - {name: bsp, sync: {scheme: BSP}}
  - name: backup
    learningRate: 0.25
    sync: {scheme: BackupWorkers, backupWorkers: {count: 2}}
)";

std::vector<std::string> ErrorsOf(const std::string& text) {
  std::vector<std::string> words;
  for (const job::FieldError& error : LoadScenario(text).errors) words.push_back(ToString(error));
  return words;
}

// `kWhole` with one line in the place of another.
std::string With(const std::string& line, const std::string& other) {
  std::string text = kWhole;
  const size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.replace(at, line.size(), other);
}

// As a TrainingJob's: DBW works its gain out with it, Auto keeps the barrier.
TEST(Scenario, ItsSchemesKnowOfTheMomentum) {
  std::string text = std::string(kWhole) + "  - {name: dbw, sync: {scheme: DBW}}\n" +
                     "  - {name: auto, sync: {scheme: Auto}}\n";
  for (const double momentum : {0.9, 0.0}) {
    if (momentum == 0) text.replace(text.find("momentum: 0.9"), 13, "momentum: 0.0");
    const LoadedScenario loaded = LoadScenario(text);
    ASSERT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front());
    EXPECT_EQ(loaded.scenario.arms[2].policy.dbw.momentum, momentum);
    EXPECT_EQ(loaded.scenario.arms[3].policy.is_barrier_kept, momentum > 0);
  }
}

TEST(Scenario, IsReadAsItIsWritten) {
  const LoadedScenario loaded = LoadScenario(kWhole);
  ASSERT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front());
  const Scenario& scenario = loaded.scenario;
  EXPECT_EQ(scenario.name, "mixed");
  EXPECT_EQ(scenario.seeds, 3u);
  EXPECT_EQ(scenario.first_seed, 10u);
  const ClusterOptions& cluster = scenario.cluster;
  EXPECT_EQ(cluster.momentum, 0.9);
  EXPECT_EQ(cluster.target_loss, 0.05);
  EXPECT_EQ(cluster.steps_max, 2000u);
  EXPECT_EQ(cluster.seconds_max, 1000);
  EXPECT_EQ(cluster.objective.dimensions, 8u);
  EXPECT_EQ(cluster.objective.start_loss, 2);
  EXPECT_EQ(cluster.objective.irreducible, 0.5);
  EXPECT_EQ(cluster.objective.noise, 0.1);
  ASSERT_EQ(cluster.workers.size(), 4u);
  const ComputeModel& common = cluster.workers[0];
  EXPECT_EQ(common.fixed_seconds, 0.1);
  EXPECT_EQ(common.per_sample_seconds, 0.01);
  EXPECT_EQ(common.least_samples, 4u);
  EXPECT_EQ(std::get<ShiftedExponential>(common.jitter).shift, 0.8);
  EXPECT_EQ(std::get<ShiftedExponential>(common.jitter).mean, 0.2);
  EXPECT_EQ(common.spike_probability, 0.02);
  EXPECT_EQ(common.spike_factor, 12);
  EXPECT_EQ(common.speed, 1);
  const ComputeModel& slow = cluster.workers[3];
  EXPECT_EQ(slow.fixed_seconds, 0.1);  // Of the cluster's.
  EXPECT_EQ(slow.speed, 0.25);
  EXPECT_EQ(std::get<Empirical>(slow.jitter).values, (std::vector<double>{1, 2.5}));
  EXPECT_EQ(slow.slow_phases->fast_seconds, 40);
  EXPECT_EQ(slow.slow_phases->slow_seconds, 10);
  EXPECT_EQ(slow.slow_phases->factor, 3);
  ASSERT_EQ(slow.changes.size(), 2u);
  EXPECT_EQ(slow.changes[0].factor, 2);
  EXPECT_FALSE(slow.changes[0].jitter);
  EXPECT_EQ(slow.changes[1].at_seconds, 9);
  EXPECT_EQ(slow.changes[1].factor, 1);
  EXPECT_EQ(std::get<Exponential>(*slow.changes[1].jitter).mean, 3);
  EXPECT_EQ(cluster.network.latency_seconds, 0.001);
  EXPECT_EQ(cluster.network.server_bytes_per_second, 1e9);
  EXPECT_EQ(cluster.network.worker_bytes_per_second, 1e8);
  EXPECT_EQ(cluster.network.bytes, 4e6);
  EXPECT_EQ(cluster.network.push_bytes, 1e6);
  EXPECT_EQ(cluster.interrupt_seconds, 0.02);
  EXPECT_EQ(cluster.commit_seconds, 0.003);
  ASSERT_EQ(scenario.arms.size(), 2u);
  EXPECT_EQ(scenario.arms[0].learning_rate, 0.5);
  EXPECT_EQ(scenario.arms[1].learning_rate, 0.25);
  EXPECT_EQ(scenario.arms[1].policy.scheme, sync::Scheme::kBackupWorkers);
  EXPECT_EQ(scenario.arms[1].policy.backup_workers, 2u);
  EXPECT_EQ(scenario.arms[1].policy.global_batch_size, 64u);
  const ClusterOptions options = OptionsOf(scenario, scenario.arms[1], 12);
  EXPECT_EQ(options.seed, 12u);
  EXPECT_EQ(options.learning_rate, 0.25);
  EXPECT_TRUE(Simulate(options).ok());
}

TEST(Scenario, PushesAreAsLargeAsPullsUnlessItSaysSo) {
  const LoadedScenario loaded = LoadScenario(With(", pushBytes: 1e6", ""));
  ASSERT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front());
  EXPECT_EQ(loaded.scenario.cluster.network.push_bytes, 4e6);
}

TEST(Scenario, AModelTakesThePlaceOfTheQuadratic) {
  const LoadedScenario loaded = LoadScenario(
      With("objective: {dimensions: 8, startLoss: 2, irreducible: 0.5, noise: 0.1}",
           "objective: {model: digits/mlp.pt, train: a.safetensors, eval: b.safetensors, "
           "loss: CrossEntropy, lossEveryPushes: 8, lossEverySeconds: 0.5}"));
  ASSERT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front());
  ASSERT_TRUE(loaded.scenario.model);
  EXPECT_EQ(loaded.scenario.model->model.path, "digits/mlp.pt");
  EXPECT_EQ(loaded.scenario.model->model.line, 9);
  EXPECT_EQ(loaded.scenario.model->train.path, "a.safetensors");
  EXPECT_EQ(loaded.scenario.model->eval.path, "b.safetensors");
  EXPECT_EQ(loaded.scenario.model->loss, "CrossEntropy");
  EXPECT_EQ(loaded.scenario.cluster.loss_every_pushes, 8u);
  EXPECT_EQ(loaded.scenario.cluster.loss_every_seconds, 0.5);
  EXPECT_FALSE(LoadScenario(kWhole).scenario.model);
}

TEST(Scenario, TheRateMayHaveASchedule) {
  const auto schedule_of = [](const std::string& schedule) {
    const LoadedScenario loaded = LoadScenario(
        With("momentum: 0.9}", "momentum: 0.9, learningRateSchedule: {" + schedule + "}}"));
    EXPECT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front());
    return loaded.scenario.cluster.schedule;
  };
  const optim::ScheduleOptions cut =
      schedule_of("kind: Step, everySteps: 100, factor: 0.2, warmupSteps: 5, finalFactor: 0.01");
  EXPECT_EQ(cut.kind, optim::ScheduleKind::kStep);
  EXPECT_EQ(cut.step_samples, 6400u);
  EXPECT_EQ(cut.step_factor, 0.2);
  EXPECT_EQ(cut.warmup_steps, 5u);
  EXPECT_EQ(cut.final_factor, 0.01);
  const optim::ScheduleOptions cosine = schedule_of("kind: Cosine, totalSteps: 300");
  EXPECT_EQ(cosine.kind, optim::ScheduleKind::kCosine);
  EXPECT_EQ(cosine.total_samples, 300u * 64);
  EXPECT_EQ(schedule_of("kind: Linear, totalSteps: 3").kind, optim::ScheduleKind::kLinear);
  EXPECT_EQ(schedule_of("kind: Constant").kind, optim::ScheduleKind::kConstant);
}

TEST(Scenario, WhatIsWrongWithObjectiveAndScheduleIsTold) {
  constexpr const char* kObjective =
      "objective: {dimensions: 8, startLoss: 2, irreducible: 0.5, noise: 0.1}";
  EXPECT_EQ(
      ErrorsOf(With(kObjective, "objective: {model: \"\", noise: 1, loss: CrossEntrop}")),
      (std::vector<std::string>{
          "line 9: spec.objective.model: must be the path of a file: got \"\"",
          "line 9: spec.objective.loss: must be one of CrossEntropy, MeanSquaredError: got "
          "\"CrossEntrop\"; did you mean CrossEntropy?",
          "line 9: spec.objective.train: is required",
          "line 9: spec.objective.noise: is of the quadratic, whose place model takes: leave one "
          "of them out",
      }));
  EXPECT_EQ(ErrorsOf(With(kObjective, "objective: {train: a, lossEveryPushes: 0}")),
            (std::vector<std::string>{
                "line 9: spec.objective.lossEveryPushes: must be at least 1: got 0",
                "line 9: spec.objective.train: is of a model: spec.objective.model is absent",
            }));
  const auto with_schedule = [](const std::string& schedule) {
    return ErrorsOf(
        With("momentum: 0.9}", "momentum: 0.9, learningRateSchedule: {" + schedule + "}}"));
  };
  const std::string at = "line 7: spec.training.learningRateSchedule";
  EXPECT_EQ(with_schedule("kind: Step, factor: 2"),
            (std::vector<std::string>{at + ".factor: must be at most 1: got 2",
                                      at + ".everySteps: is required"}));
  EXPECT_EQ(
      with_schedule("kind: Cosine, warmupSteps: 9, totalSteps: 9"),
      (std::vector<std::string>{at + ".totalSteps: must be more than warmupSteps, 9: got 9"}));
  EXPECT_EQ(with_schedule("kind: Cosin"),
            (std::vector<std::string>{at + ".kind: must be one of Constant, Step, Cosine, Linear: "
                                           "got \"Cosin\"; did you mean Cosine?"}));
}

// In the place of a line that may as well be absent.
std::string WithChaos(const std::string& chaos) {
  return With("    commitSeconds: 0.003\n", "    chaos: " + chaos + "\n");
}

TEST(Scenario, HasTheChaosOfATrainingJob) {
  const LoadedScenario loaded = LoadScenario(WithChaos(
      "{enabled: true, seed: 7, delays: [{kind: Ratio, ratio: 0.5, workers: [1]}, {kind: Trace, "
      "trace: a.csv}], links: [{bytesPerSecond: 100}]}"));
  ASSERT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front());
  const Scenario& scenario = loaded.scenario;
  const job::Chaos& chaos = scenario.cluster.injected;
  EXPECT_TRUE(chaos.enabled);
  ASSERT_EQ(chaos.delays.size(), 2u);
  EXPECT_EQ(chaos.delays[0].ratio, 0.5);
  EXPECT_EQ(chaos.links.at(0).bytes_per_second, 100);
  ASSERT_EQ(scenario.traces.size(), 2u);
  EXPECT_EQ(scenario.traces[0].path, "");
  EXPECT_EQ(scenario.traces[1].path, "a.csv");
  EXPECT_EQ(scenario.traces[1].line, 26);
  // The first life has the delays of a job with that seed, each further one those of the next.
  EXPECT_EQ(OptionsOf(scenario, scenario.arms[0], 10).injected.seed, 7);
  EXPECT_EQ(OptionsOf(scenario, scenario.arms[0], 12).injected.seed, 9);
}

TEST(Scenario, JudgesChaosAsAJobDoes) {
  const std::string at = "line 26: spec.cluster.chaos";
  EXPECT_EQ(ErrorsOf(WithChaos("{enabled: true, delays: [{kind: Constant, workers: [4]}]}")),
            (std::vector<std::string>{
                at + ".delays[0].seconds: is required with kind Constant",
                at + ".delays[0].workers[0]: must be less than workers.maxReplicas, 4, since "
                     "indices count from 0: got 4"}));
  EXPECT_EQ(ErrorsOf(WithChaos("{delays: [{kind: Constant, seconds: 1}]}")),
            (std::vector<std::string>{
                at + ".enabled: must be true with delays or links, which are injected only then; "
                     "set it, or remove them: got false with 1 in delays and 0 in links"}));
  std::string text = WithChaos("{enabled: true, links: [{bytesPerSecond: 100}]}");
  text.replace(text.find("bytes: 4e6"), 10, "bytes: 0e0");
  EXPECT_EQ(ErrorsOf(text),
            (std::vector<std::string>{
                at + ".links: needs network.bytes, which would travel on them: got none"}));
}

TEST(Scenario, TellsAllThatIsWrongAtOnce) {
  std::string text = With("seeds: 3", "seeds: 0");
  text.replace(text.find("momentum: 0.9"), 13, "momentum: 1.0");
  text.replace(text.find("mean: 0.2}"), 10, "mean: -1}");
  text.replace(text.find("slowPhases"), 10, "slowPhase");
  text.replace(text.find("scheme: BSP}}"), 13, "scheme: BSPP}}");
  EXPECT_EQ(
      ErrorsOf(text),
      (std::vector<std::string>{
          "line 5: spec.seeds: must be at least 1: got 0",
          "line 7: spec.training.momentum: must be below 1: got 1",
          "line 15: spec.cluster.compute.jitter: mean must be at least 0: got -1",
          "line 22: spec.cluster.workers[1].compute.slowPhase: is unknown: did you mean "
          "slowPhases?",
          R"(line 28: spec.arms[0].sync.scheme: must be one of BSP, SSP, ASP, BackupWorkers, DBW, WBSP, PSPlus, KAsync, KBatchAsync, Auto: got "BSPP"; did you mean BSP?)",
      }));
}

TEST(Scenario, NamesTheFieldTheValueAndWhatWouldBeRight) {
  const auto first = [](const std::string& text) {
    const std::vector<std::string> errors = ErrorsOf(text);
    return errors.empty() ? std::string("none") : errors.front();
  };
  EXPECT_EQ(first("[1]"), "line 1: must be an object: got a list");
  EXPECT_EQ(first(With("kind: Scenario", "kind: TrainingJob")),
            "line 2: kind: must be Scenario: got \"TrainingJob\"");
  EXPECT_EQ(first(With("  stop: {loss: 0.05, steps: 2000, seconds: 1000}", "  stop: {loss: 0.05}")),
            "line 8: spec.stop: must have steps or seconds: a loss that is never reached would "
            "never end");
  EXPECT_EQ(
      first(With("globalBatchSize: 64", "globalBatchSize: 3")),
      "line 7: spec.training: globalBatchSize must be at least the number of workers, 4: got 3");
  EXPECT_EQ(first(With("globalBatchSize: 64", "globalBatchSize: many")),
            "line 7: spec.training.globalBatchSize: must be a whole number: got \"many\"");
  EXPECT_EQ(first(With("kind: ShiftedExponential", "kind: Normal")),
            "line 15: spec.cluster.compute.jitter.kind: must be Constant, Uniform, Exponential, "
            "ShiftedExponential, "
            "Lognormal, Pareto, Gamma or Empirical: got \"Normal\"");
  EXPECT_EQ(first(With("values: [1, 2.5]", "values: []")),
            "line 21: spec.cluster.workers[1].compute.jitter: values must not be empty");
  EXPECT_EQ(
      first(With("jitter: {kind: Exponential, mean: 3}", "jitter: {kind: Exponential, mean: -3}")),
      "line 23: spec.cluster.workers[1].compute.changes[1].jitter: mean must be at least 0: "
      "got -3");
  EXPECT_EQ(first(With("{atSeconds: 9, jitter", "{atSeconds: 4, jitter")),
            "line 23: spec.cluster.workers[1].compute.changes[1].atSeconds: must not be before the "
            "change above it");
  EXPECT_EQ(first(With("name: backup", "name: bsp")),
            "line 29: spec.arms[1].name: must be of one arm alone: got \"bsp\" again");
  EXPECT_EQ(first(With("backupWorkers: {count: 2}", "backupWorkers: {counts: 2}")),
            "line 31: spec.arms[1].sync.backupWorkers.counts: is not known; did you mean "
            "spec.arms[1].sync.backupWorkers.count?");
  EXPECT_EQ(first(With("- {count: 3}", "- {count: 100001}")),
            "line 18: spec.cluster.workers[0].count: must be at most 100000: got 100001");
}

}  // namespace
}  // namespace paceline::simulator
