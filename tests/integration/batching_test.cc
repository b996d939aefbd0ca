// Batch sizes that follow speed, in jobs whose workers come and go and whose strategy changes.
#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/trace/replay.h"
#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr uint64_t kEpochs = 60;
constexpr const char* kSizes = "paceline_worker_batch_size";

// Steps of some tens of milliseconds.
LiveRun Start(const TestFolder& folder, const std::string& strategy) {
  return LiveRun(folder, folder.Write("job.yaml", DigitsManifest()),
                 Sets(Paced(0.001, {"spec.training.globalBatchSize=256",
                                    fmt::format("spec.training.stop.maxEpochs={}", kEpochs),
                                    "spec.sync.batchSizing.strategy=" + strategy})));
}

// Of `workers` together; 0 unless so many are given samples.
double GivenTo(size_t workers, const Json& state) {
  double sum = 0;
  size_t count = 0;
  for (const Json& figure : state["figures"]) {
    if (figure["name"] != kSizes) continue;
    sum += figure["value"].get<double>();
    ++count;
  }
  return count == workers ? sum : 0;
}

void ExpectReplays(const LiveRun& run, uint64_t policies) {
  const auto replay = sync::Replay(ReadText(run.RunFolder() + "/policy.trace"));
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->policies, policies);
  EXPECT_FALSE(replay->difference.has_value())
      << "line " << replay->difference->line << ": recorded " << replay->difference->recorded
      << ", replayed " << replay->difference->replayed;
}

TEST(BatchingTest, ALossIsSharedOutOverTheRestUntilItComesBack) {
  const TestFolder folder;
  LiveRun run = Start(folder, "NARX");
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 5; }).is_null());
  const pid_t victim = run.PidOf("worker-1");
  ASSERT_GT(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  EXPECT_FALSE(run.WaitFor([](const Json& now) { return GivenTo(3, now) == 256; }).is_null());
  EXPECT_FALSE(run.WaitFor([](const Json& now) { return GivenTo(4, now) == 256; }).is_null());
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  ExpectEverySampleOnce(ended.last_state, kEpochs);
  ExpectReplays(run, 1);
}

TEST(BatchingTest, StrategiesFollowEachOtherInARunningJob) {
  const TestFolder folder;
  LiveRun run = Start(folder, "Equal");
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 5; }).is_null());
  for (const std::string strategy : {"EMA", "Stepwise", "NARX"}) {
    const Ended set = RunProgram({"paceline", "ctl", "set", "--run", run.RunFolder(),
                                  "spec.sync.batchSizing.strategy=" + strategy});
    ASSERT_EQ(set.code, 0) << set.err;
    EXPECT_FALSE(run.WaitFor([](const Json& now) {
                      return now["sync"]["changing"] == false && GivenTo(4, now) == 256;
                    })
                     .is_null());
    EXPECT_TRUE(run.MovesOn(run.WaitFor([](const Json&) { return true; }), 8));
  }
  EXPECT_THAT(run.Get("/metrics"), HasSubstr("paceline_speed_error_of_mean"));
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  ExpectEverySampleOnce(ended.last_state, kEpochs);
  ExpectReplays(run, 1);  // One policy took them all over: nobody stopped.
}

}  // namespace
}  // namespace paceline::integration
