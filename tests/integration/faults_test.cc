// Processes that die, stop or come back in the middle of a run.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/replay.h"
#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Json = nlohmann::json;

// Every step computes for some tens of milliseconds, so that a worker is nearly always found in the
// middle of one.
std::vector<std::string> SlowSteps(uint64_t epochs) {
  return {"--set", "spec.training.microBatchSize=1",
          "--set", "spec.training.globalBatchSize=256",
          "--set", "spec.training.stop.maxEpochs=" + std::to_string(epochs)};
}

const Json* WorkerOf(const Json& state, uint64_t index) {
  for (const Json& worker : state["workers"]) {
    if (worker["index"] == index) return &worker;
  }
  return nullptr;
}

uint64_t IncarnationOf(const Json& state, uint64_t index) {
  const Json* const worker = WorkerOf(state, index);
  return worker == nullptr ? 0 : (*worker)["incarnation"].get<uint64_t>();
}

bool IsMember(const Json& state, uint64_t index) {
  const Json* const worker = WorkerOf(state, index);
  return worker != nullptr && (*worker)["isMember"].get<bool>();
}

class FaultsTest : public ::testing::Test {
 protected:
  LiveRun Start(const std::vector<std::string>& arguments) {
    return LiveRun(folder_, folder_.Write("job.yaml", DigitsManifest()), arguments);
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
    was_refused = run.LogOf("worker-2").find("push refused") != std::string::npos;
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
  std::vector<std::string> arguments = SlowSteps(1000);
  arguments.insert(arguments.end(), {"--set", "spec.parameterServer.shards=2"});
  LiveRun run = Start(arguments);
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
      EXPECT_THAT(metrics, HasSubstr(name + "{worker=\"" + worker + "\"} "));
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

struct SchemeCase {
  std::string name;
  std::vector<std::string> overrides;
  friend void PrintTo(const SchemeCase& one, std::ostream* out) { *out << one.name; }
};

class SchemeFaultsTest : public FaultsTest, public ::testing::WithParamInterface<SchemeCase> {
 protected:
  LiveRun StartScheme(std::vector<std::string> arguments) {
    for (const std::string& one : GetParam().overrides) {
      arguments.push_back("--set");
      arguments.push_back("spec.sync." + one);
    }
    return Start(arguments);
  }
};

// What a worker holds when it dies, freezes or is asked to go depends on the scheme: one lease or
// several, a step, a push on its way, local steps that nobody has seen.
TEST_P(SchemeFaultsTest, WorkersDieFreezeAndLeaveAndNoSampleIsLostOrDoubled) {
  constexpr uint64_t kEpochs = 60;
  LiveRun run = StartScheme(SlowSteps(kEpochs));
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 12; }).is_null());
  const pid_t frozen = run.PidOf("worker-2");
  ASSERT_GT(frozen, 0);
  ASSERT_EQ(kill(frozen, SIGSTOP), 0);
  const Json lost = run.WaitFor([](const Json& now) { return !IsMember(now, 2); });
  ASSERT_FALSE(lost.is_null());
  EXPECT_TRUE(run.MovesOn(lost, 10)) << "the others did not go on";
  ASSERT_EQ(kill(run.PidOf("worker-1"), SIGKILL), 0);
  ASSERT_EQ(kill(run.PidOf("worker-3"), SIGTERM), 0);
  ASSERT_EQ(kill(frozen, SIGCONT), 0);
  const Json back = run.WaitFor([](const Json& now) {
    const bool has_left = !IsMember(now, 3) || IncarnationOf(now, 3) == 2;  // It is started again.
    return IsMember(now, 1) && IncarnationOf(now, 1) == 2 && IsMember(now, 2) && has_left;
  });
  ASSERT_FALSE(back.is_null()) << run.LogOf("worker-1") << run.LogOf("worker-2");
  EXPECT_TRUE(run.MovesOn(back, 10));
  const Ended ended = run.Wait(280);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(run.LogOf("ps-0").find("policy broke its contract"), std::string::npos);
  ExpectEverySampleOnce(ended.last_state, kEpochs);
}

// Where a newcomer begins depends on the scheme too: its clock, its share of the batch, its place
// among those whose times are known, the version from which it takes its local steps.
TEST_P(SchemeFaultsTest, NewWorkerJoinsAndPushesAndNoSampleIsLostOrDoubled) {
  constexpr uint64_t kEpochs = 40;
  std::vector<std::string> arguments = SlowSteps(kEpochs);
  arguments.insert(arguments.end(), {"--set", "spec.workers.replicas=3"});
  LiveRun run = StartScheme(arguments);
  const Json before = run.WaitFor([](const Json& now) { return now["step"] >= 12; });
  ASSERT_FALSE(before.is_null());
  ASSERT_EQ(WorkerOf(before, 3), nullptr) << before;
  const Ended asked = RunProgram({"paceline", "ctl", "set", "--run", run.RunFolder(),
                                  "spec.workers.maxReplicas=4", "spec.workers.replicas=4"});
  ASSERT_EQ(asked.code, 0) << asked.err;
  const Json joined = run.WaitFor(
      [](const Json& now) { return IsMember(now, 3) && (*WorkerOf(now, 3))["steps"] >= 3; });
  ASSERT_FALSE(joined.is_null()) << run.LogOf("worker-3");
  EXPECT_TRUE(run.MovesOn(joined, 10));
  const Ended ended = run.Wait(280);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(run.LogOf("ps-0").find("policy broke its contract"), std::string::npos);
  ExpectEverySampleOnce(ended.last_state, kEpochs);
  for (uint64_t index = 0; index < 4; ++index)
    EXPECT_EQ(IncarnationOf(ended.last_state, index), 1) << index << " had to join again";
  const auto replay = sync::Replay(ReadText(run.RunFolder() + "/policy.trace"));
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_FALSE(replay->difference.has_value()) << "line " << replay->difference->line;
}

INSTANTIATE_TEST_SUITE_P(
    Schemes, SchemeFaultsTest,
    ::testing::Values(SchemeCase{"BackupWorkers",
                                 {"scheme=BackupWorkers", "backupWorkers.count=1"}},
                      SchemeCase{"Ssp", {"scheme=SSP", "ssp.staleness=2"}},
                      SchemeCase{"Asp", {"scheme=ASP"}},
                      SchemeCase{"BspNarx", {"batchSizing.strategy=NARX"}},
                      SchemeCase{"BspStepwise", {"batchSizing.strategy=Stepwise"}},
                      SchemeCase{"Dbw", {"scheme=DBW"}},
                      SchemeCase{"DbwEma", {"scheme=DBW", "batchSizing.strategy=EMA"}},
                      SchemeCase{"DbwInterrupting", {"scheme=DBW", "dbw.lateWorker=Interrupt"}},
                      SchemeCase{"Wbsp", {"scheme=WBSP"}},
                      SchemeCase{"WbspBasic", {"scheme=WBSP", "wbsp.overlap=false"}},
                      SchemeCase{"PsPlus", {"scheme=PSPlus", "psPlus.staleness=2"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace paceline::integration
