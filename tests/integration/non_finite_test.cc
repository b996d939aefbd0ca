// Gradients that are not finite: left out, told of, and no reason to wait for ever.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/checkpoints/checkpoint_folder.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using ::testing::ContainsRegex;

// 64 samples of which one is poisoned.
class NonFiniteTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSamples = 64;

  NonFiniteTest() {
    constexpr int64_t kFeatures = 4;
    std::vector<float> values;
    std::vector<int64_t> targets;
    for (uint64_t i = 0; i < kSamples; ++i) {
      targets.push_back(static_cast<int64_t>(i % 2));
      for (int64_t f = 0; f < kFeatures; ++f)
        values.push_back(static_cast<float>((i % 2 == 0 ? 1 : -1) * (f + 1)));
    }
    values[17 * kFeatures] = std::numeric_limits<float>::quiet_NaN();
    WriteDataset(folder_.path() + "/poisoned.safetensors", values, kFeatures, targets);
  }

  std::string Manifest(const std::string& on_drop) {
    return folder_.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{builtIn: Softmax, inputShape: [4], classes: 2, loss: CrossEntropy}}
  data: {{train: poisoned.safetensors, onDrop: {}}}
  training:
    globalBatchSize: 8
    optimizer: {{type: SGD}}
    learningRate: {{base: 0.1}}
    stop: {{maxEpochs: 4}}
    seed: 1
  sync: {{scheme: BSP}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 4}}
)",
                                                 on_drop));
  }

  static void ExpectFiniteModel(const Ended& ended) {
    for (const auto& [name, bytes] : ReadModel(ended.summary["model"])) {
      for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        EXPECT_TRUE(std::isfinite(value)) << name;
      }
    }
  }

  TestFolder folder_;
};

// Once an epoch, with the other sample of its share.
TEST_F(NonFiniteTest, PushesAreLeftOutCountedAndNamed) {
  LiveRun run(folder_, Manifest("Discard"), {});
  const Ended ended = run.Wait(60);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.last_state["nonFinitePushes"], 4);
  for (const nlohmann::json& epoch : ended.last_state["epochs"]) {
    EXPECT_EQ(epoch["discarded"], 2) << epoch;
    EXPECT_EQ(epoch["committed"], kSamples - 2) << epoch;
  }
  EXPECT_THAT(run.LogOf("ps-0"),
              ContainsRegex("kind=non-finite worker=w[0-3] .*is not finite, loss nan"));
  ExpectFiniteModel(ended);
}

// The samples come back, to other workers: what makes two of them ill is left out, by itself.
TEST_F(NonFiniteTest, ASampleThatMakesEverybodyIllIsFoundAndLeftOut) {
  LiveRun run(folder_, Manifest("Return"), {});
  const Ended ended = run.Wait(60);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.last_state["poisonedSamples"], 1);
  EXPECT_EQ(ended.last_state["poisoned"][0]["sample"], 17);
  EXPECT_EQ(ended.last_state["rollBacks"], 0);
  for (const nlohmann::json& epoch : ended.last_state["epochs"]) {
    EXPECT_EQ(epoch["discarded"], 1) << epoch;
    EXPECT_EQ(epoch["committed"], kSamples - 1) << epoch;
  }
  for (const nlohmann::json& worker : ended.last_state["workers"])
    EXPECT_EQ(worker["expulsions"], 0) << worker;
  EXPECT_THAT(run.LogOf("ps-0"), ContainsRegex("is not finite, loss nan, first in [a-z0-9.]+"));
  EXPECT_THAT(run.LogOf("ps-0"), ContainsRegex("a sample is discarded.* sample=17"));
  ExpectFiniteModel(ended);
}

// One worker alone cannot tell samples from the model: the model is at fault.
TEST_F(NonFiniteTest, ASingleWorkerRollsBackAndTheJobFailsAsTheManifestSays) {
  const Ended ended =
      RunToEnd(folder_, Manifest("Return"),
               Sets({"spec.workers.replicas=1", "spec.training.nonFinite.action=Fail"}), 60);
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, ContainsRegex("gradients are not finite: w0 at version v[0-9]+, first in "
                                       "[a-z0-9.]+; training.nonFinite.action is Fail"));
  EXPECT_EQ(ended.summary["succeeded"], false);
  EXPECT_EQ(ended.summary["model"], nullptr);
}

// What the job skips when it goes back for the second time in a row may hold the cause: a
// coordinator that dies then must not find it.
TEST_F(NonFiniteTest, ASkippedCheckpointIsNoCheckpointAnyMore) {
  const std::string volume = folder_.path() + "/checkpoints";
  LiveRun run(
      folder_, Manifest("Return"),
      Sets(Paced(0.02, {"spec.workers.replicas=1", "spec.training.nonFinite.limit=3",
                        fmt::format("spec.checkpoint={{periodSeconds: 100ms, keep: 5, volume: "
                                    "{{hostPath: {{path: {}, type: DirectoryOrCreate}}}}}}",
                                    volume)})));
  // At once, before later checkpoints take its place.
  const nlohmann::json back =
      run.WaitFor([](const nlohmann::json& now) { return now["rollBacks"] == 3; });
  const auto scan = store::ScanCheckpoints(std::filesystem::directory_iterator(volume)->path());
  ASSERT_FALSE(back.is_null()) << run.LogOf("ps-0");
  ASSERT_TRUE(scan.ok() && !scan->complete.empty());
  const std::string log = run.LogOf("ps-0");
  std::smatch given_up;
  ASSERT_TRUE(std::regex_search(log, given_up,
                                std::regex("checkpoint is given up.* name=(\\d+-g1\\.\\d+-v\\d+)")))
      << log;
  for (const store::FoundCheckpoint& found : scan->complete)
    EXPECT_NE(found.manifest.name, given_up[1]);
}

// A step without a barrier may take other samples along: how many are discarded depends on the
// scheme.
class NonFiniteSchemeTest : public NonFiniteTest,
                            public ::testing::WithParamInterface<const char*> {};

TEST_P(NonFiniteSchemeTest, OnePoisonedSampleStallsNobody) {
  LiveRun run(folder_, Manifest("Discard"), {"--set", std::string("spec.sync.") + GetParam()});
  const Ended ended = run.Wait(60);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_GE(ended.last_state["nonFinitePushes"], 1);
  ASSERT_EQ(ended.last_state["epochs"].size(), 4);
  for (const nlohmann::json& epoch : ended.last_state["epochs"]) {
    const auto discarded = epoch["discarded"].get<uint64_t>();
    EXPECT_EQ(epoch["committed"], kSamples - discarded) << epoch;
    EXPECT_GE(discarded, 1u) << epoch;
  }
  ExpectFiniteModel(ended);
}

// Whatever a worker holds and goes on from when it meets the sample: nobody is blamed for it.
class PoisonedSchemeTest : public NonFiniteTest,
                           public ::testing::WithParamInterface<const char*> {};

TEST_P(PoisonedSchemeTest, TheSampleIsFoundAndTheJobEndsWell) {
  LiveRun run(folder_, Manifest("Return"), {"--set", std::string("spec.sync.") + GetParam()});
  const Ended ended = run.Wait(60);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_GE(ended.last_state["poisonedSamples"], 1);
  EXPECT_EQ(ended.last_state["rollBacks"], 0) << run.LogOf("ps-0");
  for (const nlohmann::json& worker : ended.last_state["workers"])
    EXPECT_EQ(worker["expulsions"], 0) << run.LogOf("ps-0");
  bool is_found = false;
  for (const nlohmann::json& one : ended.last_state["poisoned"])
    is_found = is_found || one["sample"] == 17;
  EXPECT_TRUE(is_found) << ended.last_state["poisoned"];
  ASSERT_EQ(ended.last_state["epochs"].size(), 4u);
  for (const nlohmann::json& epoch : ended.last_state["epochs"])
    EXPECT_EQ(epoch["committed"].get<uint64_t>() + epoch["discarded"].get<uint64_t>(), kSamples);
  ExpectFiniteModel(ended);
}

INSTANTIATE_TEST_SUITE_P(Schemes, PoisonedSchemeTest,
                         ::testing::Values("scheme=BSP", "scheme=BackupWorkers", "scheme=SSP",
                                           "scheme=ASP", "scheme=DBW", "scheme=WBSP",
                                           "scheme=PSPlus"),
                         [](const auto& info) {
                           const std::string text = info.param;
                           return text.substr(text.find('=') + 1);
                         });

INSTANTIATE_TEST_SUITE_P(Schemes, NonFiniteSchemeTest,
                         ::testing::Values("scheme=BackupWorkers", "scheme=SSP", "scheme=ASP",
                                           "scheme=DBW", "batchSizing.strategy=NARX", "scheme=WBSP",
                                           "scheme=PSPlus"),
                         [](const auto& info) {
                           const std::string text = info.param;
                           return text.substr(text.find('=') + 1);
                         });

}  // namespace
}  // namespace paceline::integration
