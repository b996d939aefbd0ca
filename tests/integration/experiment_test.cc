// Injected delays and slow links hit what they are meant to hit, and nothing else; `paceline
// compare` runs its arms and tells programs what it saw.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/chaos/delays.h"
#include "lib/sync/trace/trace.h"
#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

// Pushes of each worker, in their order.
using Pushes = std::map<uint64_t, std::vector<sync::PushArrived>>;

Pushes ReadPushes(const std::string& trace) {
  Pushes pushes;
  std::istringstream lines(trace);
  for (std::string line; std::getline(lines, line);) {
    const size_t event = line.find(" push ");
    if (line.empty() || line[0] != '@' || event == std::string::npos) continue;
    const auto parsed = sync::ParseEvent(std::string_view(line).substr(event + 1));
    EXPECT_TRUE(parsed.ok()) << line;
    if (!parsed.ok()) continue;
    const auto& push = std::get<sync::PushArrived>(*parsed);
    pushes[push.worker.value()].push_back(push);
  }
  return pushes;
}

struct Observed {
  Ended ended;
  Pushes pushes;
  std::string worker_log;
};

// Two workers, a few steps, chaos with these delays or links.
Observed RunExperiment(std::vector<std::string> overrides) {
  const TestFolder folder;
  overrides.insert(overrides.begin(), {"spec.workers.replicas=2", "spec.training.stop.maxEpochs=1",
                                       "spec.training.stop.maxSteps=12"});
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()), Sets(overrides));
  Observed observed{.ended = run.Wait(240)};
  EXPECT_EQ(observed.ended.code, 0) << observed.ended.err;
  observed.pushes = ReadPushes(ReadText(run.RunFolder() + "/policy.trace"));
  observed.worker_log = run.LogOf("worker-1");
  return observed;
}

double MedianOf(const std::vector<sync::PushArrived>& pushes, Duration sync::Timing::*part) {
  std::vector<double> seconds;
  for (const sync::PushArrived& push : pushes) seconds.push_back(ToSeconds(push.timing.*part));
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<int64_t>(seconds.size() / 2));
  return seconds.empty() ? 0 : seconds[seconds.size() / 2];
}

constexpr double kDelay = 0.25;

// SSP, where the slowest never waits: its delay cannot hide in a wait.
TEST(ChaosTest, ADelayedWorkerIsSlowInItsComputeTimeAndNowhereElse) {
  const Observed observed = RunExperiment(
      {"spec.sync.scheme=SSP", "spec.sync.ssp.staleness=2", "spec.chaos.enabled=true",
       fmt::format("spec.chaos.delays=[{{kind: Constant, workers: [1], seconds: {}}}]", kDelay)});
  ASSERT_EQ(observed.pushes.size(), 2);
  for (const sync::PushArrived& push : observed.pushes.at(1)) {
    EXPECT_GE(push.timing.compute, push.timing.injected);
    EXPECT_GE(ToSeconds(push.timing.injected), kDelay);
  }
  for (const sync::PushArrived& push : observed.pushes.at(0))
    EXPECT_EQ(push.timing.injected, Duration::zero());
  // Without the delay a step takes milliseconds, and so do waiting and communicating.
  const std::vector<sync::PushArrived>& delayed = observed.pushes.at(1);
  EXPECT_GE(MedianOf(delayed, &sync::Timing::compute), kDelay);
  EXPECT_LT(MedianOf(delayed, &sync::Timing::wait), kDelay);
  EXPECT_LT(MedianOf(delayed, &sync::Timing::communication), kDelay);
  EXPECT_LT(MedianOf(observed.pushes.at(0), &sync::Timing::compute), kDelay);

  EXPECT_THAT(observed.worker_log, HasSubstr("chaos is on"));
  const json& state = observed.ended.last_state;
  EXPECT_EQ(state["chaos"], true);
  EXPECT_EQ(state["workers"][0]["injectedShare"], 0);
  EXPECT_GT(state["workers"][1]["injectedShare"], 0);
}

TEST(ChaosTest, ASlowLinkIsCommunication) {
  // The model has 4,810 parameters, 19,240 bytes: a quarter of a second each way.
  const Observed observed =
      RunExperiment({"spec.sync.scheme=SSP", "spec.sync.ssp.staleness=2", "spec.chaos.enabled=true",
                     "spec.chaos.links=[{workers: [1], bytesPerSecond: 153920, "
                     "latencySeconds: 0.125}]"});
  ASSERT_EQ(observed.pushes.size(), 2);
  for (const sync::PushArrived& push : observed.pushes.at(1)) {
    // Half a second, but for what travels while a script's step ends: its gradients are on their
    // way by then.
    EXPECT_GE(ToSeconds(push.timing.communication), 0.45);
  }
  EXPECT_LT(MedianOf(observed.pushes.at(1), &sync::Timing::compute), 0.5);
  EXPECT_LT(MedianOf(observed.pushes.at(0), &sync::Timing::communication), 0.5);
}

// The same link, and steps that are longer than a push and a pull: nobody stands still for them.
TEST(ChaosTest, ASlowLinkBesideComputingIsOverlapped) {
  for (const char* const scheme : {"WBSP", "PSPlus"}) {
    const Observed observed = RunExperiment(
        {fmt::format("spec.sync.scheme={}", scheme), "spec.chaos.enabled=true",
         "spec.chaos.delays=[{kind: Constant, seconds: 0.8}]",
         "spec.chaos.links=[{workers: [1], bytesPerSecond: 153920, latencySeconds: 0.125}]"});
    ASSERT_EQ(observed.pushes.size(), 2);
    const std::vector<sync::PushArrived>& linked = observed.pushes.at(1);
    ASSERT_GE(linked.size(), 3);
    EXPECT_GE(MedianOf(linked, &sync::Timing::overlapped), 0.25) << scheme;
    EXPECT_LT(MedianOf(linked, &sync::Timing::communication), 0.25) << scheme;
    EXPECT_LT(MedianOf(observed.pushes.at(0), &sync::Timing::overlapped), 0.25) << scheme;
  }
}

TEST(ChaosTest, DelaysAreRefusedUnlessTheyAreEnabled) {
  const TestFolder folder;
  const Ended ended = RunToEnd(folder, folder.Write("job.yaml", DigitsManifest()),
                               Sets({"spec.chaos.delays=[{kind: Constant, seconds: 3600}]"}));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("spec.chaos.enabled: must be true with delays or links"));
}

TEST(ChaosTest, NothingIsInjectedIntoAJobWithoutDelays) {
  const Observed observed = RunExperiment({"spec.chaos={seed: 3}"});
  EXPECT_EQ(observed.ended.last_state["chaos"], false);
  EXPECT_THAT(observed.worker_log, Not(HasSubstr("chaos is on")));
}

// Each arm is held against the same function of (seed, worker, step): no step may be shorter than
// it says, nor much longer.
TEST(ChaosTest, ArmsSeeEqualDelays) {
  const job::Chaos chaos{
      .enabled = true,
      .seed = 7,
      .delays = {{.kind = job::DelayKind::kShiftedExponential, .scale = 0.1, .alpha = 1}}};
  for (const char* const scheme : {"BSP", "SSP"}) {
    const Observed observed = RunExperiment(
        {fmt::format("spec.sync.scheme={}", scheme), "spec.chaos.enabled=true", "spec.chaos.seed=7",
         "spec.chaos.delays=[{kind: ShiftedExponential, scale: 0.1, alpha: 1}]"});
    ASSERT_EQ(observed.pushes.size(), 2);
    std::vector<double> more;
    for (const auto& [worker, pushes] : observed.pushes) {
      const chaos::Delays delays = *chaos::Delays::Create(chaos, WorkerId(worker), {});
      for (size_t i = 0; i < pushes.size(); ++i) {
        const sync::PushArrived& push = pushes[i];
        const Duration drawn = delays.After({.index = i, .samples = push.samples});
        EXPECT_GE(push.timing.compute, drawn) << scheme << " w" << worker << " step " << i;
        more.push_back(ToSeconds(push.timing.compute - drawn));
      }
    }
    ASSERT_GE(more.size(), 12);
    std::ranges::sort(more);
    EXPECT_LT(more[more.size() / 2], 0.1) << scheme;  // A busy machine wakes a sleeper late.
  }
}

TEST(ChaosTest, ATraceThatCannotBeReadEndsTheJobWithItsName) {
  const TestFolder folder;
  folder.Write("bad.csv", "0.1\nslow\n");
  const Ended ended = RunToEnd(
      folder, folder.Write("job.yaml", DigitsManifest()),
      Sets({"spec.chaos.enabled=true", "spec.chaos.delays=[{kind: Trace, trace: bad.csv}]"}));
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err + ended.out, HasSubstr("bad.csv: line 2: must be seconds"));
}

// A worker that is asked to leave in the middle of a long sleep does not keep anybody waiting.
TEST(ChaosTest, AnInterruptedRunDoesNotSleepOn) {
  const TestFolder folder;
  LiveRun run(
      folder, folder.Write("job.yaml", DigitsManifest()),
      Sets({"spec.chaos.enabled=true", "spec.chaos.delays=[{kind: Constant, seconds: 3600}]"}));
  ASSERT_FALSE(
      run.WaitFor([](const json& state) { return state["phase"] == "training"; }).is_null());
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait(60).code, 130);
}

// The last worker's first step would take an hour, and holds samples that each epoch needs. The
// first version does not wait for it: it gives the step up, in its sleep, and the job goes through.
// From then on it is the quickest, so that it has a push of its own however busy the machine is.
TEST(ChaosTest, AWorkerThatIsNotWaitedForGivesUpInTheMiddleOfItsSleep) {
  const TestFolder folder;
  std::string trace = "0.01,0.01,0.01,3600\n";
  for (int step = 0; step < 400; ++step) trace += "0.2,0.2,0.2,0.01\n";
  folder.Write("first.csv", trace);
  LiveRun run(
      folder, folder.Write("job.yaml", DigitsManifest()),
      Sets({"spec.sync.scheme=BackupWorkers", "spec.sync.lateWorker=Interrupt",
            "spec.chaos.enabled=true", "spec.chaos.delays=[{kind: Trace, trace: first.csv}]"}));
  const Ended ended = run.Wait(120);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.summary["epochs"], 2.0);
  EXPECT_THAT(run.LogOf("worker-3"), HasSubstr("steps were interrupted"));
  EXPECT_FALSE(ReadPushes(ReadText(run.RunFolder() + "/policy.trace"))[3].empty());
}

class CompareTest : public ::testing::Test {
 protected:
  // Long enough for the CPU use of ten of them to be measured.
  static constexpr double kStep = 0.4;

  // With a run's folder of its own, and few steps.
  Ended Compare(std::vector<std::string> arguments,
                const std::vector<std::string>& overrides = {}) {
    const std::string manifest = folder_.Write("job.yaml", DigitsManifest());
    arguments.insert(arguments.begin(), {"paceline", "compare", manifest, "--runs", runs()});
    for (const std::string& one :
         Sets({"spec.training.stop.maxEpochs=1", "spec.training.stop.maxSteps=10",
               "spec.workers.replicas=2", "spec.chaos.enabled=true",
               fmt::format("spec.chaos.delays=[{{kind: Constant, seconds: {}}}]", kStep)}))
      arguments.push_back(one);
    for (const std::string& one : Sets(overrides)) arguments.push_back(one);
    return RunProgram(arguments, 280);
  }
  std::string runs() const { return folder_.path() + "/runs"; }

  TestFolder folder_;
};

TEST_F(CompareTest, TellsProgramsOfEachRun) {
  const std::string plot = folder_.path() + "/plot.svg";
  const Ended ended =
      Compare({"--schemes", "bsp,ssp:3", "--seeds", "2", "-o", "json", "--plot", plot},
              {"spec.training.seed=5"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  const json runs = json::parse(ended.out);
  ASSERT_EQ(runs.size(), 4);
  std::vector<std::string> order;
  for (const json& run : runs) {
    order.push_back(fmt::format("{} {}", run["scheme"].get<std::string>(), run["seed"].get<int>()));
    EXPECT_EQ(run["reached"], true) << run;
    EXPECT_GT(run["seconds_to_target"], 0) << run;
    EXPECT_EQ(run["steps"], 10) << run;
    EXPECT_GE(run["step_seconds_p50"], kStep) << run;
    EXPECT_GT(run["compute_share"], 0) << run;
    EXPECT_LE(run["compute_share"], 1) << run;
    EXPECT_GT(run["injected_share"], 0) << run;
    EXPECT_LT(run["injected_share"], run["compute_share"]) << run;
    EXPECT_GT(run["samples_per_second"], 0) << run;
    EXPECT_GE(run["dropped"], 0) << run;
    EXPECT_GT(run["cores"], 0) << run;
    EXPECT_TRUE(run["problem"].is_null()) << run;
  }
  EXPECT_EQ(order, (std::vector<std::string>{"bsp 5", "bsp 6", "ssp:3 5", "ssp:3 6"}));
  EXPECT_THAT(ReadText(plot), HasSubstr("<polyline"));
}

// One scheme beside BSP, where sleep is all that takes time: closed forms, with room for a busy
// machine.
struct Pair {
  json bsp, other;
};

class OrderingTest : public CompareTest {
 protected:
  Pair Run(const std::string& other, const std::vector<std::string>& overrides) {
    std::vector<std::string> all = {"spec.training.stop.maxEpochs=4",
                                    "spec.training.stop.maxSteps=30"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const Ended ended = Compare({"--schemes", "bsp," + other, "-o", "json"}, all);
    EXPECT_EQ(ended.code, 0) << ended.err;
    const json runs = json::parse(ended.out);
    return {runs.at(0), runs.at(1)};
  }
};

// Steps of 0.1 and 0.2 s: with a barrier the fast one waits for half of its time, (1 + 0.5) / 2.
TEST_F(OrderingTest, WbspComputesWhereABarrierWaits) {
  const Pair runs =
      Run("wbsp:overlap", {"spec.chaos.delays=[{kind: PerWorker, perWorker: [0.1, 0.2]}]"});
  EXPECT_NEAR(runs.bsp["compute_share"], 0.75, 0.1);
  EXPECT_GE(runs.other["compute_share"], 0.87);
}

// 250 and 125 samples/s: a step of 64 takes 32 / 125 = 0.256 s shared equally, 64 / 375 = 0.171 s
// shared by speed.
TEST_F(OrderingTest, BatchSizesMakeWorkersFinishTogether) {
  const Pair runs = Run("lbbsp", {"spec.chaos.delays=[{kind: PerSample, secondsPerSample: 0.004}, "
                                  "{kind: Ratio, ratio: 0.5, workers: [1]}]"});
  EXPECT_GE(runs.bsp["step_seconds_p50"], 0.256);
  EXPECT_LT(runs.other["step_seconds_p50"], 0.256 * 0.8);
  EXPECT_GT(runs.other["compute_share"], runs.bsp["compute_share"]);
}

// Computing takes 0.2 s, and so do a push and a pull each, of 19,240 bytes: one after the other 0.6
// s, with both in turn beside computing 0.4 s, all side by side 0.2 s.
TEST_F(OrderingTest, PsPlusHidesCommunicationBehindComputing) {
  const Pair runs =
      Run("psplus", {"spec.chaos.delays=[{kind: Constant, seconds: 0.2}]",
                     "spec.chaos.links=[{bytesPerSecond: 96200, latencySeconds: 0}]"});
  EXPECT_GE(runs.bsp["step_seconds_p50"], 0.6);
  EXPECT_LT(runs.other["step_seconds_p50"], 0.4 * 0.8);
}

// Worker 1 takes eight times as long as worker 0: DBW learns to go on without it.
TEST_F(OrderingTest, DbwDoesNotWaitForWhoIsFarTooSlow) {
  const Pair runs = Run("dbw", {"spec.chaos.delays=[{kind: PerWorker, perWorker: [0.05, 0.4]}]"});
  EXPECT_GE(runs.bsp["step_seconds_p50"], 0.4);
  EXPECT_LT(runs.other["seconds_to_target"], runs.bsp["seconds_to_target"]);
}

TEST_F(CompareTest, AnArmThatCannotRunIsNamedBeforeAnythingRuns) {
  const Ended ended = Compare({"--schemes", "bsp,ssp:-3,backup:9"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("arm ssp:-3: "));
  EXPECT_THAT(ended.err, HasSubstr("spec.sync.ssp.staleness"));
  EXPECT_THAT(ended.err, HasSubstr("arm backup:9: "));
  EXPECT_THAT(ended.err, HasSubstr("2 of 3 arms cannot run; nothing was started"));
  EXPECT_EQ(ended.out, "");
  EXPECT_FALSE(std::filesystem::exists(runs()));
}

TEST_F(CompareTest, ArmsThatAreNoneAreRefused) {
  const Ended ended = Compare({"--schemes", "bsp,foo"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("no such arm: \"foo\""));
}

TEST_F(CompareTest, OneSeedIsNeverAWin) {
  const Ended ended = Compare({"--schemes", "bsp,asp"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("asp against bsp: too few runs"));
  EXPECT_THAT(ended.out, HasSubstr("no winner"));
}

}  // namespace
}  // namespace paceline::integration
