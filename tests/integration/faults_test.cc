// Processes that die, stop or come back in the middle of a run.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/live_run.h"
#include "tests/integration/workers_of_a_run.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

class FaultsTest : public ::testing::Test {
 protected:
  LiveRun Start(const std::vector<std::string>& overrides) {
    return LiveRun(folder_, folder_.Write("job.yaml", DigitsManifest()), Sets(overrides));
  }

  TestFolder folder_;
};

// Stopped first, until the step waits for it alone: it holds a lease when it dies.
TEST_F(FaultsTest, KilledWorkerComesBackAndNoSampleIsLostOrDoubled) {
  LiveRun run = Start(SlowSteps(30));
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  const pid_t victim = run.PidOf("worker-1");
  ASSERT_GT(victim, 0);
  ASSERT_EQ(kill(victim, SIGSTOP), 0);
  const Json stuck = run.WaitFor([](const Json& now) { return now["pushesOwed"] == 1; });
  ASSERT_FALSE(stuck.is_null());
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  const Json back =
      run.WaitFor([](const Json& now) { return IsMember(now, 1) && IncarnationOf(now, 1) == 2; });
  EXPECT_FALSE(back.is_null()) << "it did not join again";
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  ExpectEverySampleOnce(ended.last_state, 30);
  EXPECT_EQ(IncarnationOf(ended.last_state, 0), 1);
}

TEST_F(FaultsTest, AllWorkersButOneAreKilledAndTheJobGoesOn) {
  LiveRun run = Start(SlowSteps(30));
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  for (const char* worker : {"worker-1", "worker-2", "worker-3"}) {
    const pid_t victim = run.PidOf(worker);
    ASSERT_GT(victim, 0) << worker;
    ASSERT_EQ(kill(victim, SIGKILL), 0);
  }
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  ExpectEverySampleOnce(ended.last_state, 30);
  EXPECT_EQ(IncarnationOf(ended.last_state, 0), 1);
}

// Silence is noticed after six seconds, hence this test's length. A worker may be stopped while it
// has nothing to push; then the test stops it once more.
TEST_F(FaultsTest, StoppedWorkerIsLostAndItsLatePushRefusedAndItJoinsAgain) {
  LiveRun run = Start(SlowSteps(1000));
  bool was_refused = false;
  for (uint64_t life = 1; life <= 5 && !was_refused; ++life) {
    const Json before = run.WaitFor(
        [&](const Json& now) { return IsMember(now, 2) && IncarnationOf(now, 2) == life; });
    ASSERT_FALSE(before.is_null());
    ASSERT_TRUE(run.MovesOn(before, 2));
    const pid_t victim = run.PidOf("worker-2");
    ASSERT_GT(victim, 0);
    ASSERT_EQ(kill(victim, SIGSTOP), 0);
    const Json lost = run.WaitFor([](const Json& now) { return !IsMember(now, 2); });
    ASSERT_FALSE(lost.is_null()) << "it was not declared lost";
    ASSERT_TRUE(run.MovesOn(lost, 3)) << "the others did not go on";
    ASSERT_EQ(kill(victim, SIGCONT), 0);
    const Json back = run.WaitFor(
        [&](const Json& now) { return IsMember(now, 2) && IncarnationOf(now, 2) == life + 1; });
    ASSERT_FALSE(back.is_null()) << "it did not join again: " << run.LogOf("worker-2");
    EXPECT_TRUE(run.MovesOn(back, 3));
    EXPECT_EQ(run.PidOf("worker-2"), victim) << "the same process, not a new one";
    was_refused = run.LogOf("worker-2").find("life of the worker is over") != std::string::npos;
  }
  EXPECT_TRUE(was_refused) << run.LogOf("worker-2");
  EXPECT_THAT(run.Get("/metrics"), HasSubstr("paceline_worker_events_total{kind=\"silent\"}"));
  run.Signal(SIGINT);
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 130) << ended.err;
  // What was committed was committed once, and of finished epochs all of it.
  const Json& epochs = ended.last_state["epochs"];
  for (size_t i = 0; i + 2 < epochs.size(); ++i)
    EXPECT_EQ(epochs[i]["committed"], ended.last_state["trainSamples"]) << epochs[i];
}

TEST_F(FaultsTest, WorkerThatIsAskedToGoHandsItsSamplesBack) {
  LiveRun run = Start(SlowSteps(30));
  const Json before = run.WaitFor([](const Json& now) { return now["step"] >= 3; });
  ASSERT_FALSE(before.is_null());
  const pid_t leaver = run.PidOf("worker-3");
  ASSERT_GT(leaver, 0);
  ASSERT_EQ(kill(leaver, SIGTERM), 0);
  EXPECT_FALSE(run.WaitFor([](const Json& now) { return !IsMember(now, 3); }).is_null());
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  ExpectEverySampleOnce(ended.last_state, 30);
}

TEST_F(FaultsTest, EndpointsTellOfHealthAndOfEveryWorker) {
  std::vector<std::string> overrides = SlowSteps(1000);
  overrides.push_back("spec.parameterServer.shards=2");
  LiveRun run = Start(overrides);
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  EXPECT_EQ(run.Get("/healthz"), "ok\n");
  EXPECT_EQ(run.Get("/readyz"), "ok\n");
  const std::string metrics = run.Get("/metrics");
  for (const std::string worker : {"w0", "w1", "w2", "w3"}) {
    for (const std::string name :
         {"paceline_worker_compute_seconds_total", "paceline_worker_wait_seconds_total",
          "paceline_worker_communication_seconds_total", "paceline_pushes_accepted_total",
          "paceline_push_staleness_count", "paceline_worker_pushed_bytes_total",
          "paceline_worker_pulled_bytes_total"}) {
      EXPECT_THAT(metrics, HasSubstr(name + "{group=\"worker\",worker=\"" + worker + "\"} "));
    }
  }
  const int port = run.PortOf("ps-1");
  ASSERT_GT(port, 0);
  EXPECT_EQ(run.GetAt(port, "/healthz"), "ok\n");
  EXPECT_EQ(run.GetAt(port, "/readyz"), "ok\n");
  EXPECT_THAT(run.GetAt(port, "/metrics"), HasSubstr("paceline_shard_commit_seconds_count "));
  run.Signal(SIGTERM);
  EXPECT_NE(run.Wait(60).code, 0);
}

TEST_F(FaultsTest, CtrlCStopsEverything) {
  LiveRun run = Start(SlowSteps(1000));
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  ASSERT_EQ(run.AllPids().size(), 6) << "coordinator, four workers, evaluator";
  run.Signal(SIGINT);
  const Ended ended = run.Wait(60);
  EXPECT_EQ(ended.code, 130) << ended.err;
  EXPECT_THAT(run.AllPids(), IsEmpty());
}

TEST_F(FaultsTest, KilledCommandLeavesNoProcessBehind) {
  LiveRun run = Start(SlowSteps(1000));
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  run.Signal(SIGKILL);
  EXPECT_EQ(run.Wait(60).code, 128 + SIGKILL);
  EXPECT_TRUE(run.WaitForNoProcess());
}

}  // namespace
}  // namespace paceline::integration
