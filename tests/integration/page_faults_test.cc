// Gradients are tens of megabytes that come and go with each step: memory that is freed stays in
// the process, or a third of a step would be the kernel zeroing pages.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/learn/testing/files.h"
#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

// Above 32 MiB, up to which malloc would learn by itself to keep what is freed.
constexpr int64_t kFeatures = 100'000;
constexpr int64_t kClasses = 100;
constexpr int64_t kBatch = 8;

std::string Manifest(const TestFolder& folder) {
  std::vector<int64_t> targets(kBatch);
  for (int64_t i = 0; i < kBatch; ++i) targets[static_cast<size_t>(i)] = i;
  const std::string data = learn::testing::Safetensors(
      {{"inputs",
        "F32",
        {kBatch, kFeatures},
        learn::testing::Bytes(std::vector<float>(kBatch * kFeatures, 0.001f))},
       {"targets", "I64", {kBatch}, learn::testing::Bytes(targets)}});
  return folder.Write("job.yaml", fmt::format(R"(apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: t}}
spec:
  model: {{builtIn: Softmax, inputShape: [{}], classes: {}, loss: CrossEntropy}}
  data: {{train: {}}}
  training:
    globalBatchSize: {}
    optimizer: {{type: SGD, sgd: {{momentum: 0.9}}}}
    learningRate: {{base: 0.01}}
    stop: {{maxSteps: 1000000}}
  sync: {{scheme: BSP}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 1}}
)",
                                              kFeatures, kClasses,
                                              folder.Write("train.safetensors", data), kBatch));
}

// Of its life so far: field 10 of proc(5)'s stat, the 8th behind the name in brackets.
double MinorFaults(pid_t process) {
  const std::string text = ReadText(fmt::format("/proc/{}/stat", process));
  std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
  const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
  return words.size() > 7 ? std::stod(words[7]) : 0;
}

TEST(PageFaultsTest, NoGradientIsMappedAnewEachStep) {
  const TestFolder folder;
  LiveRun run(folder, Manifest(folder), {});
  const auto past = [&run](uint64_t step) {
    return run.WaitFor([step](const nlohmann::json& state) { return state["step"] >= step; });
  };
  const nlohmann::json warm = past(10);
  ASSERT_FALSE(warm.is_null());
  const pid_t worker = run.PidOf("worker-0");
  const double before = MinorFaults(worker);
  ASSERT_GT(before, 0);
  const nlohmann::json later = past(warm["step"].get<uint64_t>() + 20);
  ASSERT_FALSE(later.is_null());

  const double steps = later["step"].get<double>() - warm["step"].get<double>();
  const double gradient = static_cast<double>(kFeatures * kClasses * sizeof(float)) /
                          static_cast<double>(::sysconf(_SC_PAGESIZE));
  EXPECT_LT((MinorFaults(worker) - before) / steps, gradient / 4);
}

}  // namespace
}  // namespace paceline::integration
