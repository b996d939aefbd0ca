// The scheme that chooses by itself, in a real job: what it chose is where people look.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/trace/replay.h"
#include "tests/integration/live_run.h"
#include "tests/integration/run_files.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr uint64_t kEpochs = 4;

TEST(AutoTest, WhoIsAlwaysSlowIsLeftOutAndItIsSaid) {
  TestFolder folder;
  LiveRun run(
      folder, folder.Write("job.yaml", DigitsManifest()),
      Sets({"spec.sync.scheme=Auto", fmt::format("spec.training.stop.maxEpochs={}", kEpochs),
            "spec.chaos.enabled=true",
            "spec.chaos.delays=[{kind: Constant, seconds: 0.03}, {kind: Constant, workers: "
            "[1], seconds: 0.3}]"}));
  const Json chosen = run.WaitFor([](const Json& now) { return now["waitingFor"] == 3; });
  ASSERT_FALSE(chosen.is_null()) << run.LogOf("ps-0");
  EXPECT_EQ(chosen["sync"]["composition"], "Auto+Barrier") << "SGD has momentum in this sample";
  EXPECT_THAT(run.LogOf("ps-0"), HasSubstr("scheme Auto chose"));
  const Ended ended = run.Wait(200);
  ASSERT_EQ(ended.code, 0) << ended.err;
  ExpectEverySampleOnce(ended.last_state, kEpochs);
  const std::string trace = ReadText(run.RunFolder() + "/policy.trace");
  EXPECT_THAT(trace, HasSubstr("chosen barrier pushes=3 reason=faster"));
  const auto replay = sync::Replay(trace);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_FALSE(replay->difference.has_value()) << "line " << replay->difference->line;
}

}  // namespace
}  // namespace paceline::integration
