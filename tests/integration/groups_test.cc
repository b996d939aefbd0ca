// Several kinds of workers in one job: with `paceline run`, and as pods run them.
#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/tcp_job.h"

namespace paceline::integration {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using Json = nlohmann::json;

const char* const kGroups =
    "spec.workers={groups: [{name: big, replicas: 1, threads: 2}, {name: small, replicas: 2, "
    "maxReplicas: 3}]}";

std::set<std::string> NamesIn(const Json& state) {
  std::set<std::string> names;
  for (const Json& worker : state["workers"]) {
    names.insert(worker["group"].get<std::string>() + "/" +
                 std::to_string(worker["index"].get<int>()));
  }
  return names;
}

const Json* WorkerOf(const Json& state, const std::string& group, int index) {
  for (const Json& worker : state["workers"])
    if (worker["group"] == group && worker["index"] == index) return &worker;
  return nullptr;
}

TEST(GroupsTest, ARunOnOneMachineHasThemAllAndNamesThem) {
  const TestFolder folder;
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()),
              Sets({kGroups, "spec.chaos.enabled=true",
                    "spec.chaos.delays=[{kind: Constant, seconds: 0.002, group: small}]"}));
  const Ended ended = run.Wait();
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(run.LogOf("big-0"), HasSubstr("threads=2 from=spec.workers.threads"));
  EXPECT_THAT(run.LogOf("small-1"), HasSubstr("threads=1 from=OMP_NUM_THREADS"));
  EXPECT_THAT(run.LogOf("big-0"), HasSubstr("delayed=false"));
  EXPECT_THAT(run.LogOf("small-1"), HasSubstr("delayed=true"));
  EXPECT_THAT(run.LogOf("ps-0"), HasSubstr("worker=small/1"));
  EXPECT_THAT(NamesIn(ended.last_state), UnorderedElementsAre("big/0", "small/0", "small/1"));
  std::set<std::string> processes;
  for (const Json& worker : ended.summary["workers"]) processes.insert(worker["name"]);
  EXPECT_THAT(processes, UnorderedElementsAre("t-big-0", "t-small-0", "t-small-1"));
  ExpectEverySampleOnce(ended.last_state, 2);
}

TEST(GroupsTest, OneThatIsKilledComesBackToItsSeat) {
  const TestFolder folder;
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()),
              Sets(Paced(0.002, {kGroups, "spec.training.stop.maxEpochs=4"})));
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  const pid_t small = run.PidOf("small-0");
  ASSERT_GT(small, 0);
  kill(small, SIGKILL);
  const Json back = run.WaitFor([](const Json& now) {
    const Json* const worker = WorkerOf(now, "small", 0);
    return worker != nullptr && (*worker)["incarnation"] == 2 && (*worker)["isMember"] == true;
  });
  ASSERT_FALSE(back.is_null()) << run.LogOf("ps-0");
  EXPECT_EQ((*WorkerOf(back, "small", 1))["incarnation"], 1);
  EXPECT_THAT(run.Get("/metrics"),
              HasSubstr("paceline_worker_steps_total{group=\"small\",worker=\"small/0\"}"));
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  ExpectEverySampleOnce(ended.last_state, 4);
}

// Policies know numbers alone.
TEST(GroupsTest, WhatAPolicyTellsOfAWorkerNamesItsGroup) {
  const TestFolder folder;
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()),
              Sets(Paced(0.002, {kGroups, "spec.sync.batchSizing.strategy=EMA",
                                 "spec.training.stop.maxEpochs=4"})));
  std::string metrics;
  const auto is_told = [&](const Json&) {
    metrics = run.Get("/metrics");
    return metrics.find("paceline_worker_batch_size{") != std::string::npos;
  };
  ASSERT_FALSE(run.WaitFor(is_told).is_null()) << metrics;
  EXPECT_THAT(metrics, HasSubstr("paceline_worker_batch_size{group=\"big\",worker=\"big/0\"}"));
  EXPECT_THAT(metrics, HasSubstr("paceline_worker_batch_size{group=\"small\",worker=\"small/1\"}"));
  EXPECT_EQ(run.Wait().code, 0);
}

// Certificates name group and index; the shards learn from the coordinator who has which number.
TEST(GroupsTest, WithCertificatesEachIsScaledByItself) {
  const TestFolder folder;
  const std::vector<std::string> overrides =
      Paced(0.002, {"spec.parameterServer.shards=2", "spec.training.stop.maxEpochs=12", kGroups});
  TcpJob job(folder, {.manifest = DigitsManifest(), .overrides = overrides});
  job.StartPs(0);
  job.StartPs(1);
  job.StartWorkerOf("small", 1);
  job.StartWorkerOf("small", 0);
  job.StartWorkerOf("big", 0);
  job.StartEvaluator();
  ASSERT_FALSE(job.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null())
      << job.LogOf("ps-0");

  const Status grown =
      job.Call("PUT", "/v1/job/spec", job.Resolved({"spec.workers.groups[1].replicas=3"}).dump())
          .status();
  ASSERT_TRUE(grown.ok()) << grown;
  job.StartWorkerOf("small", 2);
  const auto trains = [](const Json& now, const std::string& group, int index) {
    const Json* const worker = WorkerOf(now, group, index);
    return worker != nullptr && (*worker)["isMember"] == true && (*worker)["steps"] >= 2;
  };
  ASSERT_FALSE(job.WaitFor([&](const Json& now) { return trains(now, "small", 2); }).is_null())
      << job.LogOf("small-2") << job.LogOf("ps-1");

  const auto drained = job.Call("POST", "/v1/job/drain", R"({"workers": ["small/0"]})");
  ASSERT_TRUE(drained.ok()) << drained.status();
  EXPECT_EQ(job.WaitExit("small-0"), 0) << job.LogOf("small-0");
  EXPECT_TRUE(job.IsRunning("big-0"));

  // A group that there was none of.
  const std::vector<std::string> more = {"spec.workers.groups[2]={name: late, replicas: 1}"};
  ASSERT_TRUE(job.Call("PUT", "/v1/job/spec", job.Resolved(more).dump()).ok());
  job.StartWorkerOf("late", 0);
  ASSERT_FALSE(job.WaitFor([&](const Json& now) { return trains(now, "late", 0); }).is_null())
      << job.LogOf("late-0") << job.LogOf("ps-1");

  EXPECT_EQ(job.WaitExit("ps-0"), 0) << job.LogOf("ps-0");
  ExpectEverySampleOnce(Json::parse(ReadText(job.summary_path())), 12);
  for (const char* const process : {"big-0", "small-1", "small-2", "late-0", "ps-1"})
    EXPECT_EQ(job.WaitExit(process), 0) << process << job.LogOf(process);
  EXPECT_THAT(job.LogOf("ps-1"), Not(HasSubstr("peer refused")));
}

// As many as are wanted of all are there, and of one group too few; of how many, a change says.
TEST(GroupsTest, TrainingWaitsForWhatIsNeededOfEachGroup) {
  const TestFolder folder;
  TcpJob job(folder, {.manifest = DigitsManifest(), .overrides = {kGroups}, .has_tls = false});
  const auto waits_for = [&](const std::string& words) {
    const auto is_so = [&](const Json& now) {
      return now["startupWaitsFor"].get<std::string>().find(words) != std::string::npos;
    };
    return !job.WaitFor(is_so).is_null();
  };
  job.StartPs(0);
  for (const int index : {0, 1, 2}) job.StartWorkerOf("small", index);
  ASSERT_TRUE(waits_for("3 joined, big: 0 of 1")) << job.LogOf("ps-0");
  const Json grown = job.Resolved({"spec.workers.groups[0].replicas=2"});
  ASSERT_TRUE(job.Call("PUT", "/v1/job/spec", grown.dump()).ok());
  ASSERT_TRUE(waits_for("big: 0 of 2")) << job.LogOf("ps-0");
  job.StartWorkerOf("big", 0);
  ASSERT_TRUE(waits_for("big: 1 of 2")) << job.LogOf("ps-0");
  job.StartWorkerOf("big", 1);
  EXPECT_FALSE(job.WaitFor([](const Json& now) { return now["step"] >= 2; }).is_null())
      << job.LogOf("ps-0");
}

// Names stay for as long as the job keeps checkpoints: the coordinator's next life gives none anew.
TEST(GroupsTest, ACoordinatorThatIsLostGivesNoNumberAnew) {
  const TestFolder folder;
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()),
              Sets(Paced(0.002, {kGroups, "spec.training.stop.maxEpochs=6",
                                 "spec.checkpoint={periodSeconds: 1, volume: {hostPath: {path: " +
                                     folder.path() + "/kept}}}"})));
  ASSERT_FALSE(run.WaitFor([](const Json& now) {
                    return now["checkpoint"].contains("version") &&
                           now["checkpoint"]["version"] >= 3;
                  })
                   .is_null())
      << run.LogOf("ps-0");
  const pid_t coordinator = run.PidOf("ps-0");
  ASSERT_GT(coordinator, 0);
  kill(coordinator, SIGKILL);
  const Json back = run.WaitFor(
      [](const Json& now) { return now["generationStart"] == 2 && now["phase"] == "training"; });
  ASSERT_FALSE(back.is_null()) << run.LogOf("ps-0");
  EXPECT_THAT(run.Get("/metrics"),
              AllOf(HasSubstr("group=\"small\""), Not(HasSubstr("group=\"worker\""))));
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(NamesIn(ended.last_state), UnorderedElementsAre("big/0", "small/0", "small/1"));
  ExpectEverySampleOnce(ended.last_state, 6);
}

TEST(GroupsTest, WhatNamesNoWorkerIsRefused) {
  const TestFolder folder;
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()),
              Sets({kGroups, "spec.chaos.enabled=true",
                    "spec.chaos.delays=[{kind: Constant, seconds: 1, workers: [0]}]"}));
  const Ended ended = run.Wait();
  EXPECT_NE(ended.code, 0);
  EXPECT_THAT(ended.err, HasSubstr("spec.chaos.delays[0].group: is required with workers"));
}

}  // namespace
}  // namespace paceline::integration
