// How TorchScript runs: its optimising executor, which makes the first steps slow, is off in every
// operator of a step, and a batch size that changes costs no exactness.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include "lib/learn/testing/files.h"
#include "lib/learn/testing/scripts.h"
#include "lib/learn/training.h"

namespace paceline::learn {
namespace {

using testing::Samples;
using testing::SaveScript;
using testing::TestFolder;

// Counts the runs of tanh and of its derivative, by whether the executor optimised there.
class TanhWatch {
 public:
  TanhWatch() {
    optimised = plain = 0;
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&Note).scopes({at::RecordScope::FUNCTION}));
  }
  ~TanhWatch() { at::removeCallback(handle_); }
  TanhWatch(const TanhWatch&) = delete;
  TanhWatch& operator=(const TanhWatch&) = delete;

  static inline std::atomic<int> optimised = 0;
  static inline std::atomic<int> plain = 0;

 private:
  static std::unique_ptr<at::ObserverContext> Note(const at::RecordFunction& run) {
    if (std::string(run.name()).find("tanh") != std::string::npos)
      ++(torch::jit::getGraphExecutorOptimize() ? optimised : plain);
    return nullptr;
  }

  at::CallbackHandle handle_;
};

constexpr uint64_t kSamples = 24;

std::unique_ptr<Training> Tanh(const TestFolder& folder) {
  SaveScript(folder.Path("tanh.pt"), {{.name = "weight", .shape = {3, 2}, .value = 0.5}}, R"(
def forward(self, x):
    return torch.tanh(x @ self.weight) @ torch.tanh(self.weight.t() @ self.weight)
)");
  std::vector<float> inputs(kSamples * 3);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = std::sin(static_cast<float>(i));
  std::vector<int64_t> targets(kSamples);
  for (size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<int64_t>(i % 2);
  const std::string data =
      folder.Write("tanh.safetensors", Samples({kSamples, 3}, inputs, targets));
  auto training = Training::Create({.model_path = folder.Path("tanh.pt"),
                                    .loss = "CrossEntropy",
                                    .train = {.path = data},
                                    .eval = DatasetOptions{.path = data}});
  EXPECT_TRUE(training.ok()) << training.status();
  return training.ok() ? *std::move(training) : nullptr;
}

TEST(ExecutionTest, NoOperatorOfAStepRunsUnderTheOptimisingExecutor) {
  const TestFolder folder;
  ASSERT_TRUE(torch::jit::getGraphExecutorOptimize());
  const TanhWatch watch;
  const auto training = Tanh(folder);
  ASSERT_NE(training, nullptr);
  const std::vector<SampleRange> all{{0, 0, kSamples}};
  for (int step = 0; step < 3; ++step) ASSERT_TRUE(training->Step(all).ok());
  // The setting is each thread's own, and a training may move between threads.
  std::thread([&] { EXPECT_TRUE(training->Step(all).ok()); }).join();
  ASSERT_TRUE(training->Evaluate().ok());
  EXPECT_GE(TanhWatch::plain, 4 * 4 + 2);
  EXPECT_EQ(TanhWatch::optimised, 0);
  EXPECT_TRUE(torch::jit::getGraphExecutorOptimize()) << "the thread's own setting is not back";
}

TEST(ExecutionTest, BatchSizeThatChangesEveryStepGivesTheMeanOfItsSamples) {
  const TestFolder folder;
  const auto training = Tanh(folder);
  ASSERT_NE(training, nullptr);
  const auto gradient_of = [&](uint64_t begin, uint64_t end) {
    EXPECT_TRUE(training->Step(std::vector<SampleRange>{{0, begin, end}}).ok());
    std::vector<float> values(6);
    std::memcpy(values.data(), training->push().data(), values.size() * sizeof(float));
    return values;
  };
  std::vector<std::vector<float>> singles;
  for (uint64_t i = 0; i < kSamples; ++i) singles.push_back(gradient_of(i, i + 1));
  for (int step = 0; step < 100; ++step) {
    const uint64_t begin = static_cast<uint64_t>(step) % 5;
    const uint64_t size = 1 + static_cast<uint64_t>(step) * 7 % (kSamples - begin);
    const std::vector<float> together = gradient_of(begin, begin + size);
    for (size_t element = 0; element < together.size(); ++element) {
      double sum = 0;
      for (uint64_t i = begin; i < begin + size; ++i) sum += singles[i][element];
      ASSERT_NEAR(together[element], sum / static_cast<double>(size), 1e-6)
          << "step " << step << " of " << size << " samples, element " << element;
    }
  }
}

}  // namespace
}  // namespace paceline::learn
