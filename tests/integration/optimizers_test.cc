// Every optimizer in a job of real processes, with parameter groups and starting values from a
// file: the bits of one process that computes in plain loops, however the job is cut or disturbed.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <ostream>
#include <span>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/training.h"
#include "lib/optim/clip.h"
#include "lib/store/grouped_optimizer.h"
#include "lib/store/kernels.h"
#include "lib/store/safetensors.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;
using Model = std::map<std::string, std::vector<std::byte>>;

constexpr uint64_t kSteps = 20;  // Of the first epoch.
constexpr uint64_t kWorkers = 4;
constexpr uint64_t kShare = 16;
constexpr double kRate = 0.01;
constexpr double kClipNorm = 0.05;
// Its first matrix lies in three blocks: two shards have a part of it each.
constexpr int64_t kHidden = 600;

std::string Samples() { return InSource("deploy/samples/digits/train.safetensors"); }

std::vector<optim::ParameterGroup> Groups() {
  return {{.match = {"fc?.bias"}, .weight_decay = 0.0, .rate_scale = 0.5},
          {.match = {"fc2.*"}, .is_frozen = true}};
}

struct Case {
  std::string name;
  std::string optimizer;
  optim::OptimizerOptions options;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

std::vector<Case> Cases() {
  return {
      {"Sgd", "{type: SGD, sgd: {momentum: 0.9, weightDecay: 0.01}}",
       optim::SgdOptions{.momentum = 0.9, .weight_decay = 0.01}},
      {"AdamW", "{type: AdamW, adamW: {weightDecay: 0.1}}",
       optim::AdamWOptions{.weight_decay = 0.1}},
      {"Adagrad", "{type: Adagrad, adagrad: {learningRateDecay: 0.1, initialAccumulator: 0.1}}",
       optim::AdagradOptions{.learning_rate_decay = 0.1, .initial_accumulator = 0.1}},
      {"Lion", "{type: Lion, lion: {beta1: 0.8, weightDecay: 0.1}}",
       optim::LionOptions{.beta1 = 0.8, .weight_decay = 0.1}},
      {"Lamb", "{type: LAMB, lamb: {weightDecay: 0.1}}", optim::LambOptions{.weight_decay = 0.1}}};
}

std::string Manifest(const std::string& optimizer, const std::string& init) {
  return fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{builtIn: Mlp, inputShape: [1, 8, 8], classes: 10, hidden: {}, init: {}}}
  data: {{train: {}}}
  training:
    globalBatchSize: {}
    optimizer: {}
    parameterGroups:
    - {{match: ["fc?.bias"], weightDecay: 0, learningRateScale: 0.5}}
    - {{match: ["fc2.*"], frozen: true}}
    learningRate: {{base: {}}}
    gradientClipNorm: {}
    stop: {{maxSteps: {}}}
    deterministic: true
    seed: 7
  workers: {{replicas: {}}}
)",
                     kHidden, init, Samples(), kWorkers * kShare, optimizer, kRate, kClipNorm,
                     kSteps, kWorkers);
}

learn::TrainingOptions Options(uint64_t seed) {
  return {.built_in = learn::BuiltIn{.kind = learn::BuiltInKind::kMlp,
                                     .input_shape = {1, 8, 8},
                                     .outputs = 10,
                                     .hidden = {kHidden}},
          .loss = "CrossEntropy",
          .train = {.path = Samples()},
          .seed = seed};
}

// The values that the model would have with another seed than the job's.
std::string WriteInit(const TestFolder& folder) {
  const auto training = learn::Training::Create(Options(123)).value();
  std::vector<store::SafetensorsTensor> tensors;
  for (const store::TensorPlace& place : training->layout().tensors()) {
    tensors.push_back({place.spec.name, store::SafetensorsType::kF32, place.spec.shape,
                       training->parameters().subspan(place.offset_bytes, place.size_bytes)});
  }
  const std::string path = folder.path() + "/start.safetensors";
  EXPECT_TRUE(store::WriteSafetensors(path, tensors).ok());
  return path;
}

std::span<float> Floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

// Norms by blocks, as shards have them. What is frozen has a gradient of 0, and none to clip.
void StepLikeShards(store::GroupedOptimizer& optimizer, std::span<float> values,
                    std::span<const float> sum) {
  constexpr size_t kBlock = store::kBlockBytes / sizeof(float);
  constexpr double kScale = 1.0 / (kWorkers * kShare);
  const auto each_block = [&](const auto& act) {
    for (size_t begin = 0; begin < values.size(); begin += kBlock)
      act(begin, std::min(kBlock, values.size() - begin));
  };
  double squared = 0;
  each_block(
      [&](size_t begin, size_t size) { squared += store::SquaredNorm(sum.subspan(begin, size)); });
  const double clip = optim::ClipScale(squared * kScale * kScale, kClipNorm);
  EXPECT_LT(clip, 1);
  const optim::StepOptions step{.gradient_scale = kScale * clip, .learning_rate = kRate};
  std::vector<store::TensorNorms> norms;
  each_block([&](size_t begin, size_t size) {
    optimizer.Norms(begin, values.subspan(begin, size), sum.subspan(begin, size), step, norms);
  });
  optimizer.SetRatios(store::TrustRatios(norms));
  optimizer.StepPart(0, values, sum, step, values);
  optimizer.FinishStep();
}

Model TrainHere(const optim::OptimizerOptions& rule, const std::string& init) {
  learn::TrainingOptions options = Options(7);
  options.init_path = init;
  options.is_frozen = [](std::string_view name) {
    const std::vector<optim::ParameterGroup> groups = Groups();
    const optim::ParameterGroup* const group = optim::GroupOf(groups, name);
    return group != nullptr && group->is_frozen;
  };
  const auto training = learn::Training::Create(options).value();
  const store::Layout& layout = training->layout();
  EXPECT_EQ(layout.parameter_bytes(), layout.total_bytes());
  auto optimizer =
      store::GroupedOptimizer::Create(rule, Groups(), layout, {0, layout.total_bytes()}).value();
  const std::span<const std::byte> initial = training->parameters();
  std::vector<std::byte> values(initial.begin(), initial.end());
  for (uint64_t step = 0; step < kSteps; ++step) {
    std::vector<float> sum(values.size() / sizeof(float));
    for (uint64_t worker = 0; worker < kWorkers; ++worker) {
      std::ranges::copy(values, training->parameters().begin());
      const uint64_t begin = (step * kWorkers + worker) * kShare;
      EXPECT_TRUE(training->Step(std::vector<learn::SampleRange>{{0, begin, begin + kShare}}).ok());
      for (size_t i = 0; i < sum.size(); ++i) {
        float value = 0;
        std::memcpy(&value, training->push().data() + i * sizeof value, sizeof value);
        sum[i] += static_cast<float>(kShare) * value;
      }
    }
    StepLikeShards(optimizer, Floats(values), sum);
  }
  Model tensors;
  for (const store::TensorPlace& place : layout.tensors()) {
    const auto begin = values.begin() + static_cast<int64_t>(place.offset_bytes);
    tensors[place.spec.name].assign(begin, begin + static_cast<int64_t>(place.size_bytes));
  }
  return tensors;
}

class OptimizersTest : public ::testing::TestWithParam<Case> {};

TEST_P(OptimizersTest, AnyNumberOfShardsGivesTheBitsOfOneProcess) {
  const TestFolder folder;
  const std::string init = WriteInit(folder);
  const std::string manifest = folder.Write("job.yaml", Manifest(GetParam().optimizer, init));
  const Model here = TrainHere(GetParam().options, init), start = ReadModel(init);
  EXPECT_EQ(here.at("fc2.weight"), start.at("fc2.weight"));
  for (const char* const name : {"fc1.weight", "fc1.bias", "fc2.bias"})
    EXPECT_NE(here.at(name), start.at(name)) << name;
  for (const char* const shards : {"1", "2"}) {
    const Ended ended =
        RunToEnd(folder, manifest, {"--set", std::string("spec.parameterServer.shards=") + shards});
    ASSERT_EQ(ended.code, 0) << ended.err;
    const Model there = ReadModel(ended.summary["model"]);
    EXPECT_TRUE(there == here) << shards << " shards: largest difference "
                               << LargestDifference(there, here);
  }
}

// The state of optimizers comes back with the parameters.
TEST_P(OptimizersTest, AKilledShardChangesNoBit) {
  const TestFolder folder;
  const std::string init = WriteInit(folder);
  const std::string manifest = folder.Write(
      "job.yaml",
      Manifest(GetParam().optimizer, init) +
          fmt::format("  checkpoint: {{periodSeconds: 100ms, volume: {{hostPath: {{path: "
                      "{}/checkpoints, type: DirectoryOrCreate}}}}}}\n",
                      folder.path()));
  LiveRun run(folder, manifest, Sets(Paced(0.015, {"spec.parameterServer.shards=2"})));
  const Json before = run.WaitFor([](const Json& now) {
    const uint64_t kept = now["checkpoint"].value("version", uint64_t{0});
    return now["phase"] == "training" && kept > 1 && now["step"] < kSteps - 5;
  });
  ASSERT_FALSE(before.is_null());
  const pid_t victim = run.PidOf("ps-1");
  ASSERT_GT(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.last_state["rollBacks"], 1);
  EXPECT_GT(ended.last_state["checkpoint"].value("restoredFrom", uint64_t{0}), 0);
  const Model here = TrainHere(GetParam().options, init);
  const Model there = ReadModel(ended.summary["model"]);
  EXPECT_TRUE(there == here) << "largest difference " << LargestDifference(there, here);
}

INSTANTIATE_TEST_SUITE_P(Every, OptimizersTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

TEST(ParameterGroupsTest, WhatIsFrozenStaysUnderLocalStepsToo) {
  const TestFolder folder;
  const std::string init = WriteInit(folder);
  const Ended ended =
      RunToEnd(folder, folder.Write("job.yaml", Manifest("{type: LAMB}", init)),
               {"--set", "spec.sync.scheme=WBSP", "--set", "spec.training.deterministic=false",
                "--set", "spec.parameterServer.shards=2"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const Model model = ReadModel(ended.summary["model"]), start = ReadModel(init);
  EXPECT_EQ(model.at("fc2.weight"), start.at("fc2.weight"));
  EXPECT_NE(model.at("fc1.weight"), start.at("fc1.weight"));
  EXPECT_NE(model.at("fc2.bias"), start.at("fc2.bias"));
}

TEST(ParameterGroupsTest, APatternThatFitsNothingIsSaid) {
  const TestFolder folder;
  LiveRun run(
      folder, folder.Write("job.yaml", Manifest("{type: AdamW}", WriteInit(folder))),
      Sets(Paced(0.002, {"spec.training.parameterGroups[0].match=[\"*.bais\", fc1.bias]"})));
  const Json state = run.WaitFor([](const Json& now) { return !now["idlePatterns"].empty(); });
  ASSERT_FALSE(state.is_null());
  EXPECT_EQ(state["idlePatterns"], Json::array({"*.bais"}));
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  const std::string said = "no parameter of the model fits spec.training.parameterGroups' *.bais\n";
  const size_t first = ended.err.find(said);
  ASSERT_NE(first, std::string::npos) << ended.err;
  EXPECT_EQ(ended.err.find(said, first + 1), std::string::npos) << ended.err;  // Once.
}

TEST(StartingValuesTest, ThatDoNotFitEndTheJobByName) {
  const TestFolder folder;
  const std::string manifest =
      folder.Write("job.yaml", Manifest("{type: AdamW}", WriteInit(folder)));
  const Ended ended = RunToEnd(folder, manifest, {"--set", "spec.model.hidden=500"});
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("tensor fc1.weight has shape [600, 64], the model's has [500, "
                                   "64]"));
}

}  // namespace
}  // namespace paceline::integration
