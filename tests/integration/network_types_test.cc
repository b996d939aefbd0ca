// Jobs whose numbers travel rounded: fields of the manifest, as real processes take them.
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kSteps = 12;
constexpr uint64_t kModelBytes = 4 * (64 * 1024 + 1024 + 1024 * 10 + 10);

struct Case {
  std::string name;
  std::vector<std::string> overrides;
  double pushed = 1, pulled = 1;  // Of the model's bytes, each time.
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }
};

class NetworkTypesTest : public ::testing::TestWithParam<Case> {};

TEST_P(NetworkTypesTest, WhatTravelsIsRoundedAndTheJobGoesOn) {
  const Case& c = GetParam();
  std::vector<std::string> overrides = {
      "spec.model.hidden=1024", "spec.workers.replicas=2", "spec.parameterServer.shards=2",
      "spec.training.stop={maxSteps: 12}", "spec.network.transport=Sockets"};
  overrides.insert(overrides.end(), c.overrides.begin(), c.overrides.end());
  const TestFolder folder;
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()), Sets(overrides));
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  const Json& state = ended.last_state;
  // What had come of a further version is not thrown away: it becomes one.
  EXPECT_GE(state["step"], kSteps);
  EXPECT_LE(state["step"], kSteps + 1);
  EXPECT_EQ(state["nonFinitePushes"], 0);
  ASSERT_EQ(state["workers"].size(), 2u);
  for (const Json& worker : state["workers"]) {
    const uint64_t pushes = worker["accepted"].get<uint64_t>() + worker["dropped"].get<uint64_t>();
    ASSERT_GT(pushes, 0u) << worker;
    EXPECT_EQ(worker["pushedBytes"].get<double>(), c.pushed * kModelBytes * pushes) << worker;
    // Told of with the push after it, if there is one.
    const double pulled = worker["pulledBytes"].get<double>();
    EXPECT_GT(pulled, 0) << worker;
    EXPECT_LE(pulled, c.pulled * kModelBytes * (pushes + 1)) << worker;
  }
}

const char* const kGradients = "spec.network.gradientType=BFloat16";
const char* const kParameters = "spec.network.parameterType=BFloat16";
const char* const kBuckets = "spec.network.bucketBytes=65536";  // A fifth of the model.

INSTANTIATE_TEST_SUITE_P(
    All, NetworkTypesTest,
    ::testing::Values(
        Case{"Neither", {}}, Case{"Gradients", {kGradients}, 0.5, 1},
        Case{"Parameters", {kParameters}, 1, 0.5},
        Case{"BothInBuckets", {kGradients, kParameters, kBuckets}, 0.5, 0.5},
        // Deltas are exact.
        Case{"DeltasOfWbsp", {kGradients, kParameters, "spec.sync.scheme=WBSP"}, 1, 0.5}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace paceline::integration
