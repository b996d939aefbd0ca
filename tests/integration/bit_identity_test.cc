// BSP over 1, 2 and 4 shards and four worker processes gives the parameters that one process
// computes in plain loops.
#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/training.h"
#include "lib/optim/optimizer.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

constexpr uint64_t kSteps = 20;
constexpr uint64_t kWorkers = 4;
constexpr uint64_t kShare = 16;
constexpr double kRate = 0.05;
constexpr double kMomentum = 0.9;
constexpr double kWeightDecay = 0.0005;

std::string Samples(const std::string& file) { return InSource("deploy/samples/digits/" + file); }

// A network with batch norm, so that there are buffers to average.
std::string ModelFile() { return InSource("tests/golden/learn/cnn.pt"); }

std::string Manifest(bool is_deterministic, const std::string& model, double rate) {
  return fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{{}, loss: CrossEntropy}}
  data: {{train: {}}}
  training:
    globalBatchSize: {}
    optimizer: {{type: SGD, sgd: {{momentum: {}, weightDecay: {}}}}}
    learningRate: {{base: {}}}
    stop: {{maxSteps: {}}}
    deterministic: {}
    seed: 7
  sync: {{scheme: BSP}}
  workers: {{replicas: {}}}
)",
                     model, Samples("train.safetensors"), kWorkers * kShare, kMomentum,
                     kWeightDecay, rate, kSteps, is_deterministic, kWorkers);
}

std::span<float> Floats(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

class Reference {
 public:
  Reference() {
    auto training = learn::Training::Create({.model_path = ModelFile(),
                                             .loss = "CrossEntropy",
                                             .train = {.path = Samples("train.safetensors")},
                                             .seed = 7});
    EXPECT_TRUE(training.ok()) << training.status();
    training_ = *std::move(training);
    const std::span<const std::byte> initial = training_->parameters();
    values_.assign(initial.begin(), initial.end());
    optimizer_ = *optim::MakeOptimizer(
        optim::SgdOptions{.momentum = kMomentum, .weight_decay = kWeightDecay},
        layout().parameter_bytes() / sizeof(float));
  }

  void Step(uint64_t step) {
    std::vector<float> sum(layout().float_bytes() / sizeof(float));
    const uint64_t integers = layout().integer_begin_bytes();
    std::vector<int64_t> largest((layout().total_bytes() - integers) / sizeof(int64_t));
    for (uint64_t worker = 0; worker < kWorkers; ++worker) {
      std::ranges::copy(values_, training_->parameters().begin());
      const uint64_t begin = (step * kWorkers + worker) * kShare;
      const std::vector<learn::SampleRange> ranges = {{0, begin, begin + kShare}};
      ASSERT_TRUE(training_->Step(ranges).ok());
      const std::span<const std::byte> push = training_->push();
      for (size_t i = 0; i < sum.size(); ++i) {
        float value = 0;
        std::memcpy(&value, push.data() + i * sizeof value, sizeof value);
        sum[i] += static_cast<float>(kShare) * value;
      }
      for (size_t i = 0; i < largest.size(); ++i) {
        int64_t value = 0;
        std::memcpy(&value, push.data() + integers + i * sizeof value, sizeof value);
        largest[i] = std::max(largest[i], value);
      }
    }
    const size_t parameters = layout().parameter_bytes() / sizeof(float);
    const std::span<float> floats = Floats(values_);
    optimizer_->Step(floats.first(parameters), std::span(sum).first(parameters),
                     {.gradient_scale = 1.0 / (kWorkers * kShare), .learning_rate = kRate},
                     floats.first(parameters));
    for (size_t i = parameters; i < sum.size(); ++i)
      floats[i] = sum[i] / static_cast<float>(kWorkers * kShare);
    std::memcpy(values_.data() + integers, largest.data(), largest.size() * sizeof(int64_t));
  }

  std::map<std::string, std::vector<std::byte>> Tensors() const {
    std::map<std::string, std::vector<std::byte>> tensors;
    for (const store::TensorPlace& place : layout().tensors()) {
      const auto begin = values_.begin() + static_cast<int64_t>(place.offset_bytes);
      tensors[place.spec.name].assign(begin, begin + static_cast<int64_t>(place.size_bytes));
    }
    return tensors;
  }

 private:
  const store::Layout& layout() const { return training_->layout(); }

  std::unique_ptr<learn::Training> training_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<std::byte> values_;
};

std::map<std::string, std::vector<std::byte>> TrainHere() {
  Reference reference;
  for (uint64_t step = 0; step < kSteps; ++step) reference.Step(step);
  return reference.Tensors();
}

using Model = std::map<std::string, std::vector<std::byte>>;

Model TrainThere(const std::string& manifest, uint32_t shards) {
  const TestFolder folder;
  const Ended ended = RunToEnd(folder, folder.Write("job.yaml", manifest),
                               {"--set", fmt::format("spec.parameterServer.shards={}", shards)});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.last_state["step"], kSteps);
  if (ended.code != 0) return {};
  return ReadModel(ended.summary["model"]);
}

TEST(BitIdentityTest, AnyNumberOfShardsGivesTheBitsOfOneProcess) {
  const Model here = TrainHere();
  ASSERT_GT(here.size(), 4);
  const std::string manifest = Manifest(true, "torchScript: " + ModelFile(), kRate);
  for (const uint32_t shards : {1, 2, 4}) {
    const Model there = TrainThere(manifest, shards);
    EXPECT_TRUE(here == there) << shards << " shards: largest difference "
                               << LargestDifference(here, there);
  }
}

// A smooth model: where a maximum is taken, as in pooling, a difference in the last bit can choose
// another branch and is not small any more.
TEST(BitIdentityTest, OrderOfArrivalMakesALittleDifference) {
  const std::string model = "builtIn: Softmax, inputShape: [1, 8, 8], classes: 10";
  const Model in_order = TrainThere(Manifest(true, model, kRate), 1);
  ASSERT_EQ(in_order.size(), 2);
  for (const uint32_t shards : {1, 2, 4}) {
    EXPECT_LE(LargestDifference(in_order, TrainThere(Manifest(false, model, kRate), shards)), 1e-5)
        << shards << " shards";
  }
}

}  // namespace
}  // namespace paceline::integration
