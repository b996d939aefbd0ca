// Data sets beside the one file of inputs and targets: tokens, several files, several inputs.
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/testing/files.h"
#include "lib/learn/testing/scripts.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using learn::testing::Bytes;
using learn::testing::Safetensors;
using ::testing::HasSubstr;

std::vector<float> Noise(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, 0.3f);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

constexpr int64_t kVocabulary = 16;
constexpr int64_t kWidth = 8;
constexpr uint64_t kWindow = 8;

// The next token is 3 t + 1 nine times of ten, else any: an entropy of 0.57, and chance has 2.77.
std::vector<int32_t> Chain(size_t tokens, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> chain = {0};
  while (chain.size() < tokens) {
    const bool is_chance = random() % 10 == 0;
    chain.push_back(
        static_cast<int32_t>((is_chance ? random() : 3 * chain.back() + 1) % kVocabulary));
  }
  return chain;
}

std::string AsUInt16(std::span<const int32_t> tokens) {
  return Bytes(std::vector<uint16_t>(tokens.begin(), tokens.end()));
}

std::string AsInt32(std::span<const int32_t> tokens) {
  return Bytes(std::vector<int32_t>(tokens.begin(), tokens.end()));
}

// Logits of each token's successor, [batch, tokens, classes].
void WriteLanguageModel(const TestFolder& folder) {
  learn::testing::SaveScript(folder.path() + "/gpt.pt",
                             {{.name = "embedding", .shape = {kVocabulary, kWidth}},
                              {.name = "head", .shape = {kWidth, kVocabulary}}},
                             R"(
def forward(self, tokens):
    return torch.matmul(torch.embedding(self.embedding, tokens), self.head)
)");
  const size_t size = kVocabulary * kWidth;
  folder.Write("start.safetensors",
               Safetensors({{"embedding", "F32", {kVocabulary, kWidth}, Bytes(Noise(size, 1))},
                            {"head", "F32", {kWidth, kVocabulary}, Bytes(Noise(size, 2))}}));
}

std::string Manifest(const TestFolder& folder, const std::string& model, const std::string& data,
                     int64_t epochs) {
  return folder.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {}
  data: {}
  training:
    globalBatchSize: 64
    optimizer: {{type: AdamW}}
    learningRate: {{base: 0.03}}
    stop: {{maxEpochs: {}}}
    deterministic: true
  parameterServer: {{shards: 2}}
  workers: {{replicas: 2}}
)",
                                              model, data, epochs));
}

constexpr char kLanguageModel[] = "{torchScript: gpt.pt, init: start.safetensors}";

void ExpectLearnt(const Ended& ended, uint64_t samples, uint64_t epochs) {
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.last_state["trainSamples"], samples);
  ExpectEverySampleOnce(ended.last_state, epochs);
  EXPECT_LT(ended.summary["loss"].get<double>(), 1.0) << ended.summary;
  EXPECT_GT(ended.summary["accuracy"].get<double>(), 0.8) << "of tokens: " << ended.summary;
}

TEST(TokenFilesTest, ALanguageModelLearnsAChainOfUInt16) {
  const TestFolder folder;
  WriteLanguageModel(folder);
  folder.Write("train.bin", AsUInt16(Chain(4096 + 3, 1)));
  folder.Write("test.bin", AsUInt16(Chain(1025, 2)));
  const std::string manifest = Manifest(
      folder, kLanguageModel,
      fmt::format("{{train: train.bin, eval: test.bin, sequenceLength: {}}}", kWindow), 15);
  ExpectLearnt(RunToEnd(folder, manifest, {}), 4096 / kWindow, 15);
}

// Windows do not cross files: each loses what is behind its last one.
TEST(TokenFilesTest, AndOfInt32InAFolderAndAPattern) {
  const TestFolder folder;
  WriteLanguageModel(folder);
  std::filesystem::create_directories(folder.path() + "/tokens");
  const std::vector<int32_t> chain = Chain(4096, 1);
  const std::span<const int32_t> all(chain);
  folder.Write("tokens/train-0.bin", AsInt32(all.first(1003)));       // 125 windows.
  folder.Write("tokens/train-1.bin", AsInt32(all.subspan(1003, 9)));  // One.
  folder.Write("tokens/train-2.bin", AsInt32(all.subspan(1012)));     // 385.
  std::filesystem::create_directories(folder.path() + "/held-out");
  folder.Write("held-out/a.bin", AsInt32(Chain(513, 2)));
  folder.Write("held-out/b.bin", AsInt32(Chain(513, 3)));
  const std::string manifest = Manifest(
      folder, kLanguageModel,
      fmt::format("{{train: 'tokens/train-?.bin', eval: held-out/, sequenceLength: {}, tokenType: "
                  "Int32}}",
                  kWindow),
      15);
  ExpectLearnt(RunToEnd(folder, manifest, {}), 125 + 1 + 385, 15);
}

constexpr int64_t kFeatures = 5;

// A class by the sign of a sum, of rows [begin, end).
void WriteRows(const std::string& path, size_t begin, size_t end) {
  const std::vector<float> all = Noise(end * kFeatures, 7);
  const std::vector<float> values(all.begin() + static_cast<std::ptrdiff_t>(begin * kFeatures),
                                  all.end());
  std::vector<int64_t> targets;
  for (size_t row = 0; row < end - begin; ++row)
    targets.push_back(values[row * kFeatures] + values[row * kFeatures + 3] > 0);
  WriteDataset(path, values, kFeatures, targets);
}

constexpr char kBuiltIn[] = "{builtIn: Mlp, inputShape: [5], classes: 2, hidden: 8}";

TEST(ShardedDataTest, SeveralFilesTrainToTheBitsOfOne) {
  const TestFolder one, several;
  WriteRows(one.path() + "/all.safetensors", 0, 700);
  std::filesystem::create_directories(several.path() + "/shards");
  WriteRows(several.path() + "/shards/0.safetensors", 0, 100);
  WriteRows(several.path() + "/shards/1.safetensors", 100, 101);
  WriteRows(several.path() + "/shards/2.safetensors", 101, 700);
  const Ended whole = RunToEnd(one, Manifest(one, kBuiltIn, "{train: all.safetensors}", 2), {});
  const Ended cut = RunToEnd(several, Manifest(several, kBuiltIn, "{train: shards/}", 2), {});
  ASSERT_EQ(whole.code, 0) << whole.err;
  ASSERT_EQ(cut.code, 0) << cut.err;
  ExpectEverySampleOnce(cut.last_state, 2);
  EXPECT_EQ(ReadModel(cut.summary["model"]), ReadModel(whole.summary["model"]));
}

TEST(ShardedDataTest, AFileThatIsShortenedWhileItIsInUseIsNamed) {
  const TestFolder folder;
  std::filesystem::create_directories(folder.path() + "/shards");
  WriteRows(folder.path() + "/shards/0.safetensors", 0, 1000);
  WriteRows(folder.path() + "/shards/1.safetensors", 1000, 6000);
  LiveRun run(folder, Manifest(folder, kBuiltIn, "{train: shards/}", 1000),
              Sets(Paced(0.001, {"spec.runPolicy.backoffLimit=0"})));
  ASSERT_FALSE(run.WaitFor([](const auto& state) { return state["step"] > 3; }).is_null());
  std::filesystem::resize_file(folder.path() + "/shards/1.safetensors", 4096);
  const Ended ended = run.Wait(120);
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("step failed: "));
  EXPECT_THAT(ended.err, HasSubstr("shards/1.safetensors: tensor"));
  EXPECT_THAT(ended.err, HasSubstr("was shortened"));
}

// Wide: a weight for each of 20 ids. Deep: what the dense features come to. Targets need both.
void WriteWideAndDeep(const TestFolder& folder, const std::string& name, size_t rows,
                      uint64_t seed) {
  constexpr size_t kIds = 3, kDense = 4;
  std::mt19937_64 random(seed);
  std::vector<int64_t> ids(rows * kIds), targets(rows);
  const std::vector<float> dense = Noise(rows * kDense, seed + 1);
  for (int64_t& id : ids) id = static_cast<int64_t>(random() % 20);
  for (size_t row = 0; row < rows; ++row) {
    float sum = 2 * dense[row * kDense] - 2 * dense[row * kDense + 1];
    for (size_t i = 0; i < kIds; ++i) sum += ids[row * kIds + i] % 2 == 0 ? 0.5f : -0.5f;
    targets[row] = sum > 0 ? 1 : 0;
  }
  const auto size = static_cast<int64_t>(rows);
  folder.Write(name, Safetensors({{"dense", "F32", {size, kDense}, Bytes(dense)},
                                  {"ids", "I64", {size, kIds}, Bytes(ids)},
                                  {"targets", "I64", {size}, Bytes(targets)}}));
}

TEST(SeveralInputsTest, AWideAndDeepModelLearnsFromBoth) {
  const TestFolder folder;
  learn::testing::SaveScript(
      folder.path() + "/wide.pt",
      {{.name = "wide", .shape = {20, 2}}, {.name = "deep", .shape = {4, 2}}}, R"(
def forward(self, ids, dense):
    return torch.sum(torch.embedding(self.wide, ids), 1) + torch.matmul(dense, self.deep)
)");
  WriteWideAndDeep(folder, "train.safetensors", 2048, 3);
  WriteWideAndDeep(folder, "test.safetensors", 512, 5);
  const std::string manifest =
      Manifest(folder, "{torchScript: wide.pt}",
               "{train: train.safetensors, eval: test.safetensors, inputs: [ids, dense]}", 15);
  const Ended ended = RunToEnd(folder, manifest, {});
  ASSERT_EQ(ended.code, 0) << ended.err;
  ExpectEverySampleOnce(ended.last_state, 15);
  EXPECT_GT(ended.summary["accuracy"].get<double>(), 0.95) << ended.summary;
}

TEST(SeveralInputsTest, ThatTheFileLacksAreNamed) {
  const TestFolder folder;
  learn::testing::SaveScript(folder.path() + "/wide.pt", {{.name = "wide", .shape = {20, 2}}},
                             "def forward(self, ids, dense):\n    return dense\n");
  WriteWideAndDeep(folder, "train.safetensors", 64, 3);
  const Ended ended = RunToEnd(folder,
                               Manifest(folder, "{torchScript: wide.pt}",
                                        "{train: train.safetensors, inputs: [ids, sparse]}", 1),
                               {"--set", "spec.runPolicy.backoffLimit=0"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("no tensor sparse: its tensors are dense, ids, targets"));
}

}  // namespace
}  // namespace paceline::integration
