// A run that is watched and changed from another terminal.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class CtlTest : public ::testing::Test {
 protected:
  LiveRun Start() {
    return LiveRun(
        folder_, folder_.Write("job.yaml", DigitsManifest()),
        Sets(Paced(0.001, {"spec.training.globalBatchSize=128", "spec.training.stop.maxEpochs=200",
                           "spec.workers.replicas=2"})));
  }
  static Ended Set(const LiveRun& run, std::vector<std::string> overrides) {
    std::vector<std::string> arguments = {"paceline", "ctl", "set", "--run", run.RunFolder()};
    arguments.insert(arguments.end(), overrides.begin(), overrides.end());
    return RunProgram(arguments);
  }
  static bool HasWorking(const Json& state, uint64_t index) {
    for (const Json& worker : state["workers"]) {
      if (worker["index"] == index) return worker["isMember"] && worker["steps"] > 0;
    }
    return false;
  }

  TestFolder folder_;
};

TEST_F(CtlTest, SchemeAndWorkersChangeAndTopShowsIt) {
  LiveRun run = Start();
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  const Ended set =
      Set(run, {"spec.sync.scheme=SSP", "spec.workers.maxReplicas=3", "spec.workers.replicas=3"});
  ASSERT_EQ(set.code, 0) << set.err;
  EXPECT_THAT(set.out, HasSubstr("taken over: spec.sync.scheme=SSP"));
  // The newcomer was started by `paceline run`.
  EXPECT_FALSE(run.WaitFor([](const Json& now) {
                    return HasWorking(now, 2) && now["sync"]["scheme"] == "SSP";
                  })
                   .is_null());
  const Ended top = RunProgram({"paceline", "top", "--once", "--run", run.RunFolder()});
  EXPECT_EQ(top.code, 0) << top.err;
  EXPECT_THAT(top.out, HasSubstr("SSP"));
  EXPECT_THAT(top.out, HasSubstr("WORKER  STATE"));
  EXPECT_THAT(top.out, HasSubstr("     2  working"));
  // And is sent away again.
  ASSERT_EQ(Set(run, {"spec.workers.replicas=2"}).code, 0);
  EXPECT_FALSE(
      run.WaitFor([](const Json& now) { return !now["workers"][2]["isMember"]; }).is_null());
  const Json state = run.WaitFor([](const Json&) { return true; });
  EXPECT_TRUE(run.MovesOn(state, 3));
  EXPECT_FALSE(run.WaitFor([&](const Json&) { return run.PidOf("worker-2") == 0; }).is_null());
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait().code, 130);
}

TEST_F(CtlTest, TheCourseOfTrainingChanges) {
  LiveRun run = Start();
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 3; }).is_null());
  const Ended raised =
      Set(run, {"training.stop.maxEpochs=1000", "training.learningRate.base=0.01"});
  ASSERT_EQ(raised.code, 0) << raised.err;
  EXPECT_THAT(raised.out, HasSubstr("taken over: spec.training.stop.maxEpochs=1000"));
  const Json kept = Json::parse(ReadText(run.RunFolder() + "/job.json"));  // For its successor.
  EXPECT_EQ(kept["spec"]["training"]["stop"]["maxEpochs"], 1000);
  EXPECT_EQ(kept["spec"]["training"]["learningRate"]["base"], 0.01);
  const Json state = run.WaitFor([](const Json&) { return true; });
  EXPECT_TRUE(run.MovesOn(state, 3));
  EXPECT_THAT(run.Get("/metrics"), HasSubstr("paceline_learning_rate 0.01\n"));
  // Passed already: it stops with the next commit, and well.
  ASSERT_EQ(Set(run, {"training.stop.maxSteps=2"}).code, 0);
  const Ended ended = run.Wait(60);
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.last_state["finished"]["reason"].get<std::string>(),
              HasSubstr("stopped after"));
}

TEST_F(CtlTest, WhatIsRefusedChangesNothing) {
  LiveRun run = Start();
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 1; }).is_null());
  const std::string before = ReadText(run.RunFolder() + "/job.json");
  const Ended fixed = Set(run, {"spec.training.seed=2"});
  EXPECT_EQ(fixed.code, 2);
  EXPECT_THAT(fixed.err, HasSubstr("spec.training.seed: cannot change once the job exists: from "));
  const Ended wrong = Set(run, {"spec.sync.scheme=Bsp"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("spec.sync.scheme"));
  EXPECT_EQ(ReadText(run.RunFolder() + "/job.json"), before);
  run.Signal(SIGINT);
  EXPECT_EQ(run.Wait().code, 130);
}

TEST(CtlWithoutRunTest, SaysWhatIsMissing) {
  const TestFolder folder;
  const Ended top = RunProgram({"paceline", "top", "--runs", folder.path()});
  EXPECT_EQ(top.code, 2);
  EXPECT_THAT(top.err, HasSubstr("no run under " + folder.path()));
  const Ended set = RunProgram({"paceline", "ctl", "set", "a=1", "--run", folder.path()});
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("no run's folder: " + folder.path()));
  const Ended url = RunProgram({"paceline", "top", "--url", "https://127.0.0.1:1"});
  EXPECT_EQ(url.code, 2);
  EXPECT_THAT(url.err, HasSubstr("https needs --tls-folder"));
  const Ended silent = RunProgram({"paceline", "top", "--once", "--url", "http://127.0.0.1:1"});
  EXPECT_EQ(silent.code, 1);
}

// A job's name means a cluster, and nothing else does.
TEST(CtlOfAClusterTest, IsNotMixedUpWithThisMachine) {
  const TestFolder folder;
  const auto refused = [](std::vector<std::string> arguments, const char* why) {
    arguments.insert(arguments.begin(), "paceline");
    const Ended ended = RunProgram(arguments);
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err + ended.out, HasSubstr(why));
  };
  const std::string none = folder.path() + "/kubeconfig";
  refused({"top", "digits", "--kubeconfig", none}, none.c_str());
  refused({"ctl", "set", "digits", "sync.scheme=SSP", "--kubeconfig", none}, none.c_str());
  refused({"top", "-n", "research"}, "--namespace requires JOB");
  refused({"top", "digits", "--run", folder.path()}, "JOB excludes --run");
  refused({"ctl", "set", "-n", "research", "a=1", "--run", "x"}, "--run excludes --namespace");
  refused({"ctl", "set", "-n", "research", "sync.scheme=SSP"}, "which job of the cluster");
  refused({"ctl", "set", "digits", "a=1", "--run", "x"}, "digits is of a cluster");
  refused({"ctl", "set", "digits"}, "nothing to set");
  refused({"top", "--runs", folder.path()}, "of a cluster, name the job: paceline top JOB");
}

}  // namespace
}  // namespace paceline::integration
