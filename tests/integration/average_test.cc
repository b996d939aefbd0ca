// spec.training.ema in jobs of real processes: the model that is judged and written is the average
// of one process that computes in plain loops, bit by bit, however the job is cut or disturbed; and
// training itself is what it would be without.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/training.h"
#include "lib/optim/optimizer.h"
#include "lib/store/kernels.h"
#include "lib/store/safetensors.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;
using Model = std::map<std::string, std::vector<std::byte>>;

constexpr uint64_t kSteps = 20;  // Of the first epoch.
constexpr uint64_t kWorkers = 2;
constexpr uint64_t kShare = 32;
constexpr double kRate = 0.1;
constexpr double kMomentum = 0.9;
constexpr double kDecay = 0.9;
// Its first matrix lies in three blocks: two shards have a part of it each.
constexpr int64_t kHidden = 600;
constexpr char kAverageInWords[] = "; the model is the moving average of the weights";

std::string Digits(const std::string& name) {
  return InSource("deploy/samples/digits/" + name + ".safetensors");
}

std::string Manifest() {
  return fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{builtIn: Mlp, inputShape: [1, 8, 8], classes: 10, hidden: {}}}
  data: {{train: {}, eval: {}}}
  training:
    globalBatchSize: {}
    optimizer: {{type: SGD, sgd: {{momentum: {}}}}}
    learningRate: {{base: {}}}
    ema: {{decay: {}}}
    stop: {{maxSteps: {}}}
    deterministic: true
    seed: 7
  workers: {{replicas: {}}}
  evaluator: {{periodSeconds: 50ms}}
)",
                     kHidden, Digits("train"), Digits("test"), kWorkers * kShare, kMomentum, kRate,
                     kDecay, kSteps, kWorkers);
}

std::span<float> Floats(std::vector<std::byte>& bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

Model TensorsOf(const store::Layout& layout, const std::vector<std::byte>& values) {
  Model tensors;
  for (const store::TensorPlace& place : layout.tensors()) {
    const auto begin = values.begin() + static_cast<int64_t>(place.offset_bytes);
    tensors[place.spec.name].assign(begin, begin + static_cast<int64_t>(place.size_bytes));
  }
  return tensors;
}

// The same training in this process: of each version its weights and their average.
struct Here {
  std::vector<Model> plain, average;
  double loss = 0;  // Held out, of the last average.
};

Here TrainHere() {
  const auto training =
      learn::Training::Create({.built_in = learn::BuiltIn{.kind = learn::BuiltInKind::kMlp,
                                                          .input_shape = {1, 8, 8},
                                                          .outputs = 10,
                                                          .hidden = {kHidden}},
                               .loss = "CrossEntropy",
                               .train = {.path = Digits("train")},
                               .eval = learn::DatasetOptions{.path = Digits("test")},
                               .seed = 7})
          .value();
  const store::Layout& layout = training->layout();
  EXPECT_EQ(layout.parameter_bytes(), layout.total_bytes());
  const auto optimizer = optim::MakeOptimizer(optim::SgdOptions{.momentum = kMomentum},
                                              layout.total_bytes() / sizeof(float))
                             .value();
  const std::span<const std::byte> initial = training->parameters();
  std::vector<std::byte> values(initial.begin(), initial.end()), average = values;
  Here here{.plain = {TensorsOf(layout, values)}, .average = {TensorsOf(layout, average)}};
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
    optimizer->StepPart(0, Floats(values), sum,
                        {.gradient_scale = 1.0 / (kWorkers * kShare), .learning_rate = kRate},
                        Floats(values));
    optimizer->FinishStep();
    if (step == 0) {
      average = values;
    } else {
      store::Lerp(Floats(values), static_cast<float>(1 - kDecay), Floats(average));
    }
    here.plain.push_back(TensorsOf(layout, values));
    here.average.push_back(TensorsOf(layout, average));
  }
  std::ranges::copy(average, training->parameters().begin());
  here.loss = training->Evaluate().value().loss;
  return here;
}

const Here& InOneProcess() {
  static const Here here = TrainHere();
  return here;
}

std::string ReasonOf(const Ended& ended) { return ended.last_state["finished"]["reason"]; }

// As of the run that `ended` was, with every step trained.
void ExpectTheAverage(const Ended& ended) {
  ASSERT_EQ(ended.code, 0) << ended.err;
  const Here& here = InOneProcess();
  ASSERT_NE(here.average.back(), here.plain.back());
  const Model there = ReadModel(ended.summary["model"]);
  EXPECT_TRUE(there == here.average.back())
      << "largest difference " << LargestDifference(there, here.average.back()) << ", of the plain "
      << LargestDifference(there, here.plain.back());
  EXPECT_NEAR(ended.summary["loss"].get<double>(), here.loss, 1e-9 + 1e-6 * here.loss);
  EXPECT_THAT(ReasonOf(ended), HasSubstr(kAverageInWords));
}

TEST(AverageTest, IsTheModelWhateverTheShardsAndTheWay) {
  const TestFolder folder;
  const std::string manifest = folder.Write("job.yaml", Manifest());
  for (const char* const shards : {"1", "2"}) {
    for (const char* const transport : {"Auto", "Sockets"}) {
      ExpectTheAverage(RunToEnd(folder, manifest,
                                Sets({fmt::format("spec.parameterServer.shards={}", shards),
                                      fmt::format("spec.network.transport={}", transport)})));
    }
  }
}

TEST(AverageTest, PeopleAreToldAtTheEnd) {
  const TestFolder folder;
  const Ended ended = RunProgram(
      {"paceline", "run", folder.Write("job.yaml", Manifest()), "--runs", folder.path() + "/runs"},
      60);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out + ended.err,
              HasSubstr(std::string("succeeded: stopped after 20 steps") + kAverageInWords));
}

TEST(AverageTest, WithoutItTheModelIsTheWeights) {
  const TestFolder folder;
  const Ended ended =
      RunToEnd(folder, folder.Write("job.yaml", Manifest()), Sets({"spec.training.ema=null"}));
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_TRUE(ReadModel(ended.summary["model"]) == InOneProcess().plain.back());
  EXPECT_THAT(ReasonOf(ended), Not(HasSubstr(kAverageInWords)));
}

std::string WithCheckpoints(const TestFolder& folder) {
  return folder.Write("job.yaml",
                      Manifest() + fmt::format("  checkpoint: {{periodSeconds: 100ms, volume: "
                                               "{{hostPath: {{path: {}/checkpoints, type: "
                                               "DirectoryOrCreate}}}}}}\n",
                                               folder.path()));
}

Json UntilAVersionIsKept(LiveRun& run) {
  return run.WaitFor([](const Json& now) {
    const uint64_t kept = now["checkpoint"].value("version", uint64_t{0});
    return now["phase"] == "training" && kept > 1 && now["step"] < kSteps - 5;
  });
}

TEST(AverageTest, AKilledShardChangesNoBit) {
  for (const char* const name : {"ps-0", "ps-1"}) {
    const TestFolder folder;
    LiveRun run(folder, WithCheckpoints(folder),
                Sets(Paced(0.015, {"spec.parameterServer.shards=2"})));
    ASSERT_FALSE(UntilAVersionIsKept(run).is_null());
    const pid_t victim = run.PidOf(name);
    ASSERT_GT(victim, 0);
    ASSERT_EQ(kill(victim, SIGKILL), 0);
    const Ended ended = run.Wait();
    ExpectTheAverage(ended);
    EXPECT_GT(ended.last_state["checkpoint"].value("restoredFrom", uint64_t{0}), 0);
  }
}

// Of tensors that one shard has as a whole, by the prefix.
Model PartsOf(const std::string& file, const std::string& prefix) {
  Model parts;
  for (const auto& [name, bytes] : ReadModel(file)) {
    if (name.starts_with(prefix)) parts[name.substr(prefix.size())] = bytes;
  }
  return parts;
}

TEST(AverageTest, CheckpointsHoldTheWeightsAndTheirAverage) {
  const TestFolder folder;
  const Ended ended = RunToEnd(folder, WithCheckpoints(folder), Sets(Paced(0.002, {})));
  ExpectTheAverage(ended);
  uint64_t seen = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder.path() + "/checkpoints")) {
    if (entry.path().filename() != "shard-0.safetensors") continue;
    const auto file = store::SafetensorsFile::Open(entry.path());
    ASSERT_TRUE(file.ok()) << file.status();
    const uint64_t version = std::stoull(file->metadata().at("version"));
    ASSERT_LT(version, InOneProcess().plain.size());
    EXPECT_EQ(file->metadata().at("average_updates"), std::to_string(version));
    EXPECT_TRUE(PartsOf(entry.path(), "parameter:") == InOneProcess().plain[version]) << version;
    EXPECT_TRUE(PartsOf(entry.path(), "average:") == InOneProcess().average[version]) << version;
    ++seen;
  }
  EXPECT_GT(seen, 0u);
}

// A job that had none goes on with one, and the other way about.
TEST(AverageTest, MayComeOrGoBetweenTwoRuns) {
  for (const bool has_first : {false, true}) {
    const TestFolder folder;
    const std::string manifest = WithCheckpoints(folder);
    const std::string none = "spec.training.ema=null";
    std::vector<std::string> before = Paced(0.015, {}), after;
    (has_first ? after : before).push_back(none);
    LiveRun run(folder, manifest, Sets(before));
    ASSERT_FALSE(UntilAVersionIsKept(run).is_null());
    run.Signal(SIGINT);
    ASSERT_EQ(run.Wait().code, 130);
    std::vector<std::string> arguments = Sets(after);
    arguments.push_back("--resume");
    const TestFolder later;
    LiveRun again(later, manifest, arguments);
    const Ended ended = again.Wait();
    ASSERT_EQ(ended.code, 0) << ended.err;
    const Model model = ReadModel(ended.summary["model"]);
    const std::string log = again.LogOf("ps-0");
    if (has_first) {
      EXPECT_TRUE(model == InOneProcess().plain.back());
      EXPECT_THAT(log, HasSubstr("the checkpoint's average of the weights is left out"));
    } else {
      EXPECT_FALSE(model == InOneProcess().plain.back());
      EXPECT_FALSE(model == InOneProcess().average.back());
      EXPECT_THAT(log, AllOf(HasSubstr("the average of the weights begins anew"),
                             HasSubstr("it holds no average")));
    }
  }
}

// A pinned version's average is what the evaluator had, though training went on.
TEST(AverageTest, TheBestVersionsIsTheModel) {
  const TestFolder folder;
  const Ended ended =
      RunToEnd(folder, folder.Write("job.yaml", Manifest()),
               Sets(Paced(0.002, {"spec.output.keep=Best", "spec.parameterServer.shards=2",
                                  "spec.evaluator.better=Higher", "spec.evaluator.metric=Accuracy",
                                  "spec.evaluator.minDelta=0.05"})));
  ASSERT_EQ(ended.code, 0) << ended.err;
  const uint64_t version = ended.last_state["judged"]["kept"];
  ASSERT_LE(version, kSteps);
  EXPECT_TRUE(ReadModel(ended.summary["model"]) == InOneProcess().average[version]) << version;
  EXPECT_THAT(ReasonOf(ended),
              AllOf(HasSubstr(", the best: Accuracy"), HasSubstr(kAverageInWords)));
}

// The first version that is judged stays the best one: no other is better by 1.
const std::vector<std::string> kFirstIsBest = {
    "spec.output.keep=Best",
    "spec.evaluator={periodSeconds: 50ms, metric: Accuracy, better: "
    "Higher, minDelta: 1}"};

uint64_t KeptOf(const Json& state) {
  return state.contains("judged") ? state["judged"].value("kept", uint64_t{0}) : 0;
}

// Whose checkpoint holds an earlier version that is the best, in the middle of training.
Json UntilTheBestIsInACheckpoint(LiveRun& run) {
  return run.WaitFor([](const Json& now) {
    const uint64_t saved = now["checkpoint"].value("version", uint64_t{0}), kept = KeptOf(now);
    return now["phase"] == "training" && kept > 0 && saved > kept && now["step"] < kSteps - 5;
  });
}

void ExpectTheBest(const Ended& ended, uint64_t kept) {
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(KeptOf(ended.last_state), kept);
  EXPECT_GT(ended.last_state["checkpoint"].value("restoredFrom", uint64_t{0}), kept);
  EXPECT_TRUE(ReadModel(ended.summary["model"]) == InOneProcess().average[kept]) << kept;
  EXPECT_THAT(ReasonOf(ended), AllOf(HasSubstr(fmt::format("; the model is v{}, the best", kept)),
                                     Not(HasSubstr("is lost"))));
}

std::vector<std::string> PacedWithTheFirstBest() {
  std::vector<std::string> overrides = kFirstIsBest;
  overrides.push_back("spec.parameterServer.shards=2");
  return Sets(Paced(0.015, overrides));
}

TEST(AverageTest, TheBestVersionsOutlivesAShard) {
  for (const char* const name : {"ps-0", "ps-1"}) {
    const TestFolder folder;
    LiveRun run(folder, WithCheckpoints(folder), PacedWithTheFirstBest());
    const Json then = UntilTheBestIsInACheckpoint(run);
    ASSERT_FALSE(then.is_null());
    const pid_t victim = run.PidOf(name);
    ASSERT_GT(victim, 0);
    ASSERT_EQ(kill(victim, SIGKILL), 0);
    ExpectTheBest(run.Wait(), KeptOf(then));
  }
}

TEST(AverageTest, TheBestVersionsOutlivesASuspension) {
  const TestFolder folder, later;
  const std::string manifest = WithCheckpoints(folder);
  LiveRun run(folder, manifest, PacedWithTheFirstBest());
  const Json then = UntilTheBestIsInACheckpoint(run);
  ASSERT_FALSE(then.is_null());
  run.Signal(SIGINT);
  ASSERT_EQ(run.Wait().code, 130);
  std::vector<std::string> arguments = PacedWithTheFirstBest();
  arguments.push_back("--resume");
  LiveRun again(later, manifest, arguments);
  ExpectTheBest(again.Wait(), KeptOf(then));
}

// Versions of other schemes count the same, one by one; they are no bits to compare with.
TEST(AverageTest, IsThereUnderSchemesOfOtherKinds) {
  for (const char* const scheme : {"ASP", "WBSP", "PSPlus"}) {
    const TestFolder folder;
    const Ended ended =
        RunToEnd(folder, folder.Write("job.yaml", Manifest()),
                 Sets({fmt::format("spec.sync.scheme={}", scheme),
                       "spec.training.deterministic=false", "spec.parameterServer.shards=2"}));
    ASSERT_EQ(ended.code, 0) << scheme << ended.err;
    EXPECT_THAT(ReasonOf(ended), HasSubstr(kAverageInWords)) << scheme;
    EXPECT_LT(ended.summary["loss"].get<double>(), 2.3) << scheme;
  }
}

}  // namespace
}  // namespace paceline::integration
