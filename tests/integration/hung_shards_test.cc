// Parameter servers that hang: their sockets stay open, their processes are there, and nothing
// moves. SIGSTOP does that.
#include <chrono>
#include <csignal>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr uint64_t kEpochs = 4;

bool IsTraining(const Json& state) { return state["phase"] == "training"; }

class HungShardsTest : public ::testing::Test {
 protected:
  // A checkpoint each fifth of a second, two shards that both hold a part of the network.
  LiveRun Start(const std::vector<std::string>& arguments = {}) {
    std::string job = DigitsManifest();
    const std::string small = "hidden: 64";
    job.replace(job.find(small), small.size(), "hidden: 600");
    job += fmt::format(
        "  checkpoint: {{periodSeconds: 200ms, volume: {{hostPath: {{path: {}/kept, type: "
        "DirectoryOrCreate}}}}}}\n",
        folder_.path());
    std::vector<std::string> all =
        Sets(Paced(0.002, {"spec.parameterServer.shards=2",
                           fmt::format("spec.training.stop.maxEpochs={}", kEpochs)}));
    all.insert(all.end(), arguments.begin(), arguments.end());
    return LiveRun(folder_, folder_.Write("job.yaml", job), all);
  }

  static pid_t Stop(LiveRun& run, const std::string& process) {
    const Json state = run.WaitFor([](const Json& now) {
      return IsTraining(now) && now["checkpoint"].value("version", uint64_t{0}) > 0;
    });
    EXPECT_FALSE(state.is_null());
    const pid_t pid = run.PidOf(process);
    EXPECT_GT(pid, 0);
    EXPECT_EQ(kill(pid, SIGSTOP), 0);
    return pid;
  }

  static void ExpectAllWell(const Ended& ended) {
    ASSERT_EQ(ended.code, 0) << ended.err;
    ExpectEverySampleOnce(ended.last_state, kEpochs);
  }

  TestFolder folder_;
};

TEST_F(HungShardsTest, FrozenOneIsLostAndRegistersAnewWhenItThaws) {
  LiveRun run = Start();
  const pid_t shard = Stop(run, "ps-1");
  const Json lost = run.WaitFor([](const Json& now) { return now["rollBacks"] == 1; });
  ASSERT_FALSE(lost.is_null()) << "nobody noticed";
  EXPECT_EQ(kill(shard, SIGCONT), 0);
  EXPECT_THAT(lost["lastRollBack"].get<std::string>(),
              AllOf(HasSubstr("shard s1 lost: no heartbeat for "), HasSubstr("back to version ")));
  EXPECT_THAT(lost["standstill"].get<std::string>(), HasSubstr("shard s1 is lost: no heartbeat"));
  EXPECT_EQ(lost["lostShards"][0]["rank"], 1);
  const Json back = run.WaitFor(IsTraining);
  ASSERT_FALSE(back.is_null()) << run.LogOf("ps-0");
  EXPECT_EQ(run.PidOf("ps-1"), shard) << "the same process, not a new one";
  ExpectAllWell(run.Wait());
}

TEST_F(HungShardsTest, OneThatStaysFrozenIsReplaced) {
  LiveRun run = Start();
  const pid_t shard = Stop(run, "ps-1");
  const Json back =
      run.WaitFor([](const Json& now) { return now["rollBacks"] == 1 && IsTraining(now); });
  ASSERT_FALSE(back.is_null()) << run.LogOf("ps-0");
  EXPECT_NE(run.PidOf("ps-1"), shard);
  const Ended ended = run.Wait();
  ExpectAllWell(ended);
  EXPECT_THAT(ended.err, HasSubstr("training stands still: shard s1"));
  EXPECT_THAT(ended.err, HasSubstr("t-ps-1 runs, but the coordinator has lost it: no heartbeat"));
}

TEST_F(HungShardsTest, FrozenCoordinatorIsKilledAndAnotherGoesOn) {
  LiveRun run = Start({"--health-seconds", "2"});
  const pid_t coordinator = Stop(run, "ps-0");
  const Json back =
      run.WaitFor([](const Json& now) { return now["generationStart"] == 2 && IsTraining(now); });
  ASSERT_FALSE(back.is_null()) << run.LogOf("ps-0");
  EXPECT_NE(run.PidOf("ps-0"), coordinator);
  const Ended ended = run.Wait();
  ExpectAllWell(ended);
  EXPECT_THAT(ended.err, HasSubstr("t-ps-0 hangs and is killed"));
}

// Shorter than the patience that is had with it: what others said meanwhile is heard before
// anybody's silence counts.
TEST_F(HungShardsTest, CoordinatorThatWasFrozenForAWhileLosesNobody) {
  LiveRun run = Start();
  const pid_t coordinator = Stop(run, "ps-0");
  // sleeps: a silence that counts has to pass (6 s), and the one that would notice it is frozen
  std::this_thread::sleep_for(std::chrono::seconds(8));
  EXPECT_EQ(kill(coordinator, SIGCONT), 0);
  const Ended ended = run.Wait();
  ExpectAllWell(ended);
  EXPECT_EQ(ended.last_state["rollBacks"], 0) << ended.last_state["lastRollBack"];
  EXPECT_EQ(ended.last_state["generationStart"], 1);
}

}  // namespace
}  // namespace paceline::integration
