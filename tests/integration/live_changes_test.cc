// A running job is told, as the operator tells it, that it is wanted otherwise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/sync/trace/replay.h"
#include "tests/integration/tcp_job.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr uint64_t kEpochs = 60;

// Steps of some tens of milliseconds, so that changes meet workers in the middle of one.
std::vector<std::string> SlowSteps(int workers) {
  return Paced(0.001, {"spec.training.globalBatchSize=128",
                       fmt::format("spec.training.stop.maxEpochs={}", kEpochs),
                       fmt::format("spec.workers.replicas={}", workers)});
}

class LiveChangesTest : public ::testing::Test {
 protected:
  void Start(TcpJob& job, int workers) {
    job.StartPs(0);
    for (int index = 0; index < workers; ++index) job.StartWorker(index);
    job.StartEvaluator();
  }

  Status Put(TcpJob& job, const std::vector<std::string>& overrides) {
    return job.Call("PUT", "/v1/job/spec", job.Resolved(overrides).dump()).status();
  }

  // The job has made some steps more than `state`.
  bool MovesOn(TcpJob& job, uint64_t steps) {
    const Json state = job.State();
    if (!state.is_object()) return false;
    const uint64_t goal = state["step"].get<uint64_t>() + steps;
    return !job.WaitFor([&](const Json& now) { return now["step"] >= goal; }).is_null();
  }

  bool RunsScheme(TcpJob& job, const std::string& scheme) {
    return !job.WaitFor([&](const Json& now) {
                 return now["sync"]["scheme"] == scheme && now["sync"]["changing"] == false;
               })
                .is_null();
  }

  TestFolder folder_;
};

TEST_F(LiveChangesTest, SchemesFollowEachOtherAndEverySampleCountsOnce) {
  TcpJob job(folder_, {.manifest = DigitsManifest(), .overrides = SlowSteps(3)});
  Start(job, 3);
  ASSERT_FALSE(job.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null())
      << job.LogOf("ps-0");
  const std::vector<std::vector<std::string>> changes = {
      {"spec.sync.scheme=SSP", "spec.sync.ssp.staleness=1"},
      {"spec.sync.scheme=SSP", "spec.sync.ssp.staleness=4"},
      {"spec.sync.scheme=DBW"},
      {"spec.sync.scheme=DBW", "spec.sync.dbw.method=Blind"},
      {"spec.sync.scheme=PSPlus"},
      {"spec.sync.scheme=WBSP"},
      {"spec.sync.scheme=BackupWorkers", "spec.sync.backupWorkers.count=1"},
      {"spec.sync.scheme=Auto"}};
  for (const std::vector<std::string>& change : changes) {
    const Status taken = Put(job, change);
    ASSERT_TRUE(taken.ok()) << taken;
    EXPECT_TRUE(RunsScheme(job, change[0].substr(change[0].find('=') + 1)));
    EXPECT_TRUE(MovesOn(job, 5)) << job.LogOf("ps-0");
  }
  EXPECT_EQ(job.WaitExit("ps-0"), 0) << job.LogOf("ps-0");
  ExpectEverySampleOnce(Json::parse(ReadText(job.summary_path())), kEpochs);
  const auto replay = sync::Replay(ReadText(job.trace_path()));
  ASSERT_TRUE(replay.ok()) << replay.status();
  // Those of the first five go on after a push alike: one policy took them all over on the run.
  EXPECT_EQ(replay->policies, 5u);
  EXPECT_THAT(ReadText(job.trace_path()), HasSubstr(" reconfigured SSP "));
  EXPECT_FALSE(replay->difference.has_value()) << "line " << replay->difference->line;
  EXPECT_EQ(job.LogOf("ps-0").find("policy broke its contract"), std::string::npos);
  for (const char* const worker : {"worker-0", "worker-1", "worker-2"})
    EXPECT_EQ(job.WaitExit(worker), 0) << job.LogOf(worker);
}

// Each of a group becomes each other one without a stop, of the groups one becomes the next.
TEST_F(LiveChangesTest, CompositionsFollowEachOther) {
  TcpJob job(folder_, {.manifest = DigitsManifest(), .overrides = SlowSteps(3)});
  Start(job, 3);
  ASSERT_FALSE(job.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null())
      << job.LogOf("ps-0");
  const std::string narx = "spec.sync.batchSizing.strategy=NARX";
  const std::string blind = "spec.sync.dbw.method=Blind";
  const std::string eager = "spec.sync.meanwhile=EagerPull";
  const std::vector<std::vector<std::string>> changes = {
      {"spec.sync.scheme=BackupWorkers", "spec.sync.lateWorker=Interrupt", narx},
      {"spec.sync.scheme=KBatchAsync", "spec.sync.quorum=4", narx},
      {"spec.sync.scheme=SSP", "spec.sync.modulation.rule=Staleness",
       "spec.sync.batchSizing.strategy=EMA"},
      {"spec.sync.scheme=DBW", "spec.sync.late=Weigh"},
      {"spec.sync.scheme=KAsync", "spec.sync.quorum=2", "spec.sync.staleness=2"},
      {"spec.sync.scheme=DBW", blind, eager, narx},
      {"spec.sync.scheme=BackupWorkers", eager},
      {"spec.sync.scheme=PSPlus", narx},
      {"spec.sync.scheme=WBSP", narx},
      {"spec.sync.scheme=DBW", blind, "spec.sync.meanwhile=LocalSteps"},
      {"spec.sync.scheme=BackupWorkers", eager}};
  for (const std::vector<std::string>& change : changes) {
    const Status taken = Put(job, change);
    ASSERT_TRUE(taken.ok()) << taken;
    EXPECT_TRUE(RunsScheme(job, change[0].substr(change[0].find('=') + 1)));
    EXPECT_TRUE(MovesOn(job, 5)) << fmt::format("{}: ", fmt::join(change, " "))
                                 << job.LogOf("ps-0");
  }
  EXPECT_EQ(job.State()["sync"]["composition"], "BackupWorkers+EagerPull");
  EXPECT_EQ(job.WaitExit("ps-0"), 0) << job.LogOf("ps-0");
  ExpectEverySampleOnce(Json::parse(ReadText(job.summary_path())), kEpochs);
  const auto replay = sync::Replay(ReadText(job.trace_path()));
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->policies, 4u);
  EXPECT_FALSE(replay->difference.has_value()) << "line " << replay->difference->line;
  EXPECT_EQ(job.LogOf("ps-0").find("policy broke its contract"), std::string::npos);
  for (const char* const worker : {"worker-0", "worker-1", "worker-2"})
    EXPECT_EQ(job.WaitExit(worker), 0) << job.LogOf(worker);
}

TEST_F(LiveChangesTest, DrainedWorkersEndWellAndOthersJoinAndTheJobGoesOn) {
  TcpJob job(folder_, {.manifest = DigitsManifest(), .overrides = SlowSteps(3)});
  Start(job, 3);
  ASSERT_FALSE(job.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  const auto drained = job.Call("POST", "/v1/job/drain", R"({"workers": [1, 2]})");
  ASSERT_TRUE(drained.ok()) << drained.status();
  for (const char* const worker : {"worker-1", "worker-2"}) {
    EXPECT_EQ(job.WaitExit(worker, 30), 0) << job.LogOf(worker);
    EXPECT_THAT(job.LogOf(worker), HasSubstr("drained"));
  }
  EXPECT_TRUE(MovesOn(job, 3));
  EXPECT_TRUE(job.IsRunning("worker-0"));
  // More than there were at the start.
  ASSERT_TRUE(Put(job, {"spec.workers.replicas=5"}).ok());
  job.StartWorker(4);
  EXPECT_FALSE(job.WaitFor([](const Json& now) {
                    for (const Json& worker : now["workers"]) {
                      if (worker["index"] == 4 && worker["steps"] > 0) return true;
                    }
                    return false;
                  })
                   .is_null());
  EXPECT_EQ(job.WaitExit("ps-0"), 0) << job.LogOf("ps-0");
  ExpectEverySampleOnce(Json::parse(ReadText(job.summary_path())), kEpochs);
}

TEST_F(LiveChangesTest, WhatMustStayIsRefusedByItsField) {
  TcpJob job(folder_, {.manifest = DigitsManifest(), .overrides = SlowSteps(1)});
  Start(job, 1);
  ASSERT_FALSE(job.WaitFor([](const Json& now) { return now["step"] >= 1; }).is_null());
  const auto refused = [&](const Status& status, StatusCode code, const std::string& words) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(Message(status), HasSubstr(words));
  };
  refused(Put(job, {"spec.training.seed=2"}), StatusCode::kFailedPrecondition,
          "409 spec.training.seed cannot change while the job runs: from 1 to 2");
  refused(Put(job, {"spec.model.hidden=65"}), StatusCode::kFailedPrecondition, "spec.model.hidden");
  refused(Put(job, {"spec.parameterServer.shards=2"}), StatusCode::kFailedPrecondition,
          "spec.parameterServer.shards");
  Json more_than_there_are = job.Resolved();
  more_than_there_are["spec"]["sync"]["scheme"] = "DBW";
  more_than_there_are["spec"]["sync"]["dbw"]["minWorkers"] = 9;
  refused(job.Call("PUT", "/v1/job/spec", more_than_there_are.dump()).status(),
          StatusCode::kInvalidArgument, "spec.sync.dbw.minWorkers");
  refused(job.Call("PUT", "/v1/job/spec", "{}").status(), StatusCode::kInvalidArgument, "");
  refused(job.Call("PUT", "/v1/job/spec", "no json").status(), StatusCode::kInvalidArgument, "");
  refused(job.Call("POST", "/v1/job/drain", R"({"workers": "all"})").status(),
          StatusCode::kInvalidArgument, R"(want {"workers": [INDEX, ...]})");
  refused(job.Call("POST", "/v1/job/drain", R"({"workers": [-1]})").status(),
          StatusCode::kInvalidArgument, "no index: -1");
  // Nothing of it was taken over.
  EXPECT_TRUE(RunsScheme(job, "BSP"));
  EXPECT_TRUE(MovesOn(job, 1));
}

}  // namespace
}  // namespace paceline::integration
