#include "lib/job/manifest/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::job {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kSmall = R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: digits}
spec:
  model: {torchScript: cnn.pt}
  data: {train: train.safetensors, eval: test.safetensors}
  training:
    globalBatchSize: 64
    learningRate: {base: 0.05}
    stop: {maxEpochs: 15}
  workers: {replicas: 4}
)";

std::vector<std::string> Lines(const Decoded& decoded) {
  std::vector<std::string> lines;
  for (const FieldError& error : decoded.errors) lines.push_back(ToString(error));
  return lines;
}

TEST(LoadJob, FillsDefaultsIn) {
  const Decoded loaded = LoadJob(kSmall, {}, Capabilities());
  ASSERT_THAT(Lines(loaded), IsEmpty());
  const JobSpec& spec = loaded.job.spec;
  EXPECT_EQ(loaded.job.metadata.name_space, "default");
  EXPECT_EQ(spec.workers.max_replicas, 4);
  EXPECT_EQ(spec.workers.min_replicas, 1);
  EXPECT_EQ(spec.parameter_server.shards, 1);
  EXPECT_EQ(spec.sync.scheme, Scheme::kBsp);
  EXPECT_EQ(spec.run_policy.backoff_limit, 6);
  ASSERT_TRUE(spec.evaluator.has_value());
  EXPECT_EQ(spec.evaluator->period_seconds, 10);
}

TEST(LoadJob, TakesOverridesAsIfTheyWereWritten) {
  const Decoded loaded = LoadJob(
      kSmall, {"spec.sync.scheme=SSP", "spec.sync.ssp.staleness=5", "spec.workers.replicas=2"},
      Capabilities());
  ASSERT_THAT(Lines(loaded), IsEmpty());
  EXPECT_EQ(loaded.job.spec.sync.scheme, Scheme::kSsp);
  EXPECT_EQ(loaded.job.spec.sync.ssp.staleness, 5);
  EXPECT_EQ(loaded.job.spec.workers.max_replicas, 2);
}

TEST(LoadJob, ReportsAllErrorsAtOnceInTheOrderOfTheText) {
  const Decoded loaded = LoadJob(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: Digits}
spec:
  model: {torchScript: cnn.pt, loss: CrossEntrpy}
  data: {train: train.safetensors}
  training:
    globalBatchSize: "64"
    learningRate: {base: 0}
    stop: {maxEpochs: 15}
  sync: {shceme: SSP}
  workers: {replicas: 4, minReplicas: 5}
  replicas: 3
)",
                                 {"spec.workers.repilcas=1", "nonsense"}, Capabilities());
  EXPECT_THAT(
      Lines(loaded),
      ElementsAre(
          "line 3: metadata.name: must be lower case letters, digits and '-', beginning with a "
          "letter and ending with a letter or digit: a Service gets that name: got \"Digits\"",
          "line 5: spec.model.loss: must be one of CrossEntropy, MeanSquaredError, Model: got "
          "\"CrossEntrpy\"; did you "
          "mean CrossEntropy?",
          "line 8: spec.training.globalBatchSize: must be a whole number: got \"64\"",
          "line 9: spec.training.learningRate.base: must be more than 0: got 0",
          "line 11: spec.sync.shceme: is not known; did you mean spec.sync.scheme?",
          "line 12: spec.workers.minReplicas: must be at most workers.replicas, 4: got 5",
          "line 13: spec.replicas: is not known; did you mean spec.workers.replicas or "
          "spec.workers.groups[].replicas?",
          "--set: an override must be PATH=VALUE, such as spec.sync.scheme=SSP: got \"nonsense\"",
          "spec.workers.repilcas: is not known; did you mean spec.workers.replicas?"));
}

// Nothing is worked out of such numbers that overflows, which a sanitizer shows.
TEST(LoadJob, NamesEachNumberThatIsFarTooLargeOrSmallAndNothingElse) {
  for (const std::string number : {"9223372036854775807", "-9223372036854775808"}) {
    for (const std::string field :
         {"workers.replicas", "parameterServer.shards", "training.globalBatchSize",
          "sync.batchSizing.minBatchSize", "sync.batchSizing.maxBatchSize",
          "runPolicy.schedulingPolicy.minAvailable"}) {
      const Decoded loaded = LoadJob(
          kSmall,
          {"spec.sync.batchSizing.strategy=EMA", "spec.sync.batchSizing.maxBatchSize=64",
           "spec.runPolicy.schedulingPolicy.minAvailable=2", "spec." + field + "=" + number},
          Capabilities());
      ASSERT_EQ(loaded.errors.size(), 1u) << ::testing::PrintToString(Lines(loaded));
      EXPECT_EQ(loaded.errors[0].path, "spec." + field) << number;
    }
  }
}

TEST(LoadJob, TakesTimesAsNumbersAndAsDurations) {
  const std::vector<std::string> numbers = {
      "spec.sync.dbw.silenceSeconds=5400",
      "spec.sync.dbw.adaSyncSeconds=90",
      "spec.workers.stragglerPolicy.forSeconds=90",
      "spec.workers.stragglerPolicy.firstStepSeconds=5400",
      "spec.evaluator.periodSeconds=90",
      "spec.checkpoint={periodSeconds: 5400, volume: {emptyDir: {}}}",
      "spec.network.transferIdleSeconds=5400",
      "spec.runPolicy.activeDeadlineSeconds=86400",
      "spec.runPolicy.ttlSecondsAfterFinished=0",
      "spec.runPolicy.nodeLostSeconds=90",
      "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds=5400"};
  const std::vector<std::string> durations = {
      "spec.sync.dbw.silenceSeconds=1h30m",
      "spec.sync.dbw.adaSyncSeconds=90s",
      "spec.workers.stragglerPolicy.forSeconds=1.5m",
      "spec.workers.stragglerPolicy.firstStepSeconds=1.5h",
      "spec.evaluator.periodSeconds=1m30000ms",
      "spec.checkpoint={periodSeconds: 1h30m, volume: {emptyDir: {}}}",
      "spec.network.transferIdleSeconds=1h30m0s",
      "spec.runPolicy.activeDeadlineSeconds=24h",
      "spec.runPolicy.ttlSecondsAfterFinished=0s",
      "spec.runPolicy.nodeLostSeconds=\"90s\"",
      "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds=1h30m"};
  const Decoded plain = LoadJob(kSmall, numbers, Capabilities());
  const Decoded written = LoadJob(kSmall, durations, Capabilities());
  ASSERT_THAT(Lines(plain), IsEmpty());
  ASSERT_THAT(Lines(written), IsEmpty());
  EXPECT_TRUE(written.job == plain.job);
  EXPECT_EQ(written.job.spec.sync.dbw.silence_seconds, 5400);
  EXPECT_EQ(written.job.spec.run_policy.active_deadline_seconds, 86400);
  const Decoded half = LoadJob(kSmall, {"spec.evaluator.periodSeconds=500ms"}, Capabilities());
  ASSERT_THAT(Lines(half), IsEmpty());
  EXPECT_EQ(half.job.spec.evaluator->period_seconds, 0.5);
}

TEST(LoadJob, SaysHowTimesAreWritten) {
  const std::vector<std::string> overrides = {
      "spec.evaluator.periodSeconds=0.5",
      "spec.network.transferIdleSeconds=500ms",
      "spec.workers.stragglerPolicy.forSeconds=\"1h 30m\"",
      "spec.workers.stragglerPolicy.firstStepSeconds=0s",
      "spec.sync.dbw.silenceSeconds=true",
      "spec.sync.dbw.adaSyncSeconds=2000000000",
      "spec.runPolicy.activeDeadlineSeconds=1500ms",
      "spec.runPolicy.nodeLostSeconds=0.5",
      "spec.runPolicy.ttlSecondsAfterFinished=-5s",
      "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds=9999999999h"};
  constexpr const char* kForm =
      ": must be whole seconds or a duration such as 1h30m, 90s or 500ms: got ";
  constexpr const char* kWhole =
      ": must be whole seconds, also as a duration such as 1h30m or 90s: got ";
  EXPECT_THAT(
      Lines(LoadJob(kSmall, overrides, Capabilities())),
      ::testing::UnorderedElementsAre(
          std::string("spec.evaluator.periodSeconds") + kForm + "0.5; write 500ms",
          "spec.network.transferIdleSeconds: must be at least 1s: got 500ms",
          std::string("spec.workers.stragglerPolicy.forSeconds") + kForm +
              "\"1h 30m\"; write 1h30m",
          "spec.workers.stragglerPolicy.firstStepSeconds: must be more than 0s: got 0",
          std::string("spec.sync.dbw.silenceSeconds") + kForm + "true",
          "spec.sync.dbw.adaSyncSeconds: must be at most 1000000000s: got 2000000000",
          std::string("spec.runPolicy.activeDeadlineSeconds") + kWhole + "\"1500ms\"",
          std::string("spec.runPolicy.nodeLostSeconds") + kWhole + "0.5",
          std::string("spec.runPolicy.ttlSecondsAfterFinished") + kWhole + "\"-5s\"",
          "spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds: must be at most 1000000000s: "
          "got \"9999999999h\""));
}

TEST(LoadJob, RefusesWhatTheRunningProgramLacks) {
  const std::vector<std::string> dbw = {"spec.sync.scheme=DBW"};
  EXPECT_THAT(
      Lines(LoadJob(kSmall, dbw, Capabilities{.schemes = {Scheme::kBsp, Scheme::kSsp}})),
      ElementsAre("spec.sync.scheme: DBW is not available in this version; available: BSP, SSP"));
  EXPECT_THAT(Lines(LoadJob(kSmall, dbw, Capabilities::All())), IsEmpty());
}

TEST(LoadJob, AcceptsAWholeNumberWrittenAsAFloatAndKubernetesMetadata) {
  const Decoded loaded = LoadJob(kSmall,
                                 {"spec.workers.replicas=2.0",
                                  "metadata.managedFields=[{manager: x}]", "metadata.generation=7"},
                                 Capabilities());
  ASSERT_THAT(Lines(loaded), IsEmpty());
  EXPECT_EQ(loaded.job.spec.workers.replicas, 2);
  EXPECT_EQ(loaded.job.metadata.generation, 7);
}

}  // namespace
}  // namespace paceline::job
