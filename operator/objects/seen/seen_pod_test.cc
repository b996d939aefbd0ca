#include "operator/objects/seen/seen_pod.h"

#include <gtest/gtest.h>

#include "lib/job/manifest/defaults.h"
#include "lib/job/state/rfc3339.h"
#include "operator/objects/pods/pod.h"

namespace paceline::controller {
namespace {

using job::ProcessState;
using job::SeenProcess;

job::TrainingJob Digits() {
  job::TrainingJob job;
  job.metadata.name = "digits";
  job.metadata.uid = "uid-1";
  job::ApplyDefaults(job);
  return job;
}

// Worker 3 of the job as the API server gives it back.
Json Worker(const Json& status) {
  Json pod = BuildPod(Digits(),
                      {.name = "digits-worker-3",
                       .role = job::Role::kWorker,
                       .index = 3,
                       .generation_start = 4,
                       .attempt = 2,
                       .failures = 1,
                       .unfit = 4,
                       .disruptions = 5},
                      {});
  pod["metadata"]["creationTimestamp"] = "2026-01-31T09:30:00Z";
  pod["status"] = status;
  return pod;
}

Json Ended(int code, const std::string& reason, const std::string& message = "") {
  return {{"phase", code == 0 ? "Succeeded" : "Failed"},
          {"containerStatuses", Json::array({{{"name", "worker"},
                                              {"state",
                                               {{"terminated",
                                                 {{"exitCode", code},
                                                  {"reason", reason},
                                                  {"message", message},
                                                  {"startedAt", "2026-01-31T09:30:05Z"},
                                                  {"finishedAt", "2026-01-31T09:31:00Z"}}}}}}})}};
}

SeenProcess Seen(const Json& status) {
  const Json pod = Worker(status);
  Json parts = pod;
  kube::Keep(parts, PartsOfPod());
  const auto seen = SeenPod(Digits(), pod);
  EXPECT_TRUE(seen.has_value());
  EXPECT_EQ(seen, SeenPod(Digits(), parts)) << status;
  return seen.value_or(SeenProcess{});
}

TEST(SeenPodTest, ReadsBackWhatItWasStartedWith) {
  const SeenProcess seen = Seen({{"phase", "Pending"}});
  EXPECT_EQ(seen.name, "digits-worker-3");
  EXPECT_EQ(seen.role, job::Role::kWorker);
  EXPECT_EQ(seen.index, 3);
  EXPECT_EQ(seen.attempt, 2);
  EXPECT_EQ(seen.failures, 1);
  EXPECT_EQ(seen.unfit, 4);
  EXPECT_EQ(seen.disruptions, 5);
  EXPECT_EQ(seen.generation_start, 4u);
  EXPECT_EQ(seen.state, ProcessState::kPending);
  EXPECT_FALSE(seen.is_stopping);
  EXPECT_EQ(seen.started_at, job::ParseTime("2026-01-31T09:30:00Z"));
}

// Of a group that the job has no more too: the planner stops what is not wanted.
TEST(SeenPodTest, AWorkerIsOfTheGroupThatItsNameSays) {
  Json pod = Worker({{"phase", "Pending"}});
  pod["metadata"]["name"] = "digits-a100-3";
  const auto seen = SeenPod(Digits(), pod);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->role, job::Role::kWorker);
  EXPECT_EQ(seen->group, "a100");
  EXPECT_EQ(seen->index, 3);
  pod["metadata"]["name"] = "digits-a-100-3";
  EXPECT_FALSE(SeenPod(Digits(), pod).has_value());
}

TEST(SeenPodTest, WhateverItsLabelsSayItIsTheProcessThatItsNameSays) {
  Json pod = Worker({{"phase", "Pending"}});
  const auto before = SeenPod(Digits(), pod);
  ASSERT_TRUE(before.has_value());
  Json& labels = pod["metadata"]["labels"];
  labels["paceline.dev/role"] = "ps";
  labels["paceline.dev/group"] = "a100";
  labels["paceline.dev/index"] = "0";
  EXPECT_EQ(SeenPod(Digits(), pod), before);
  labels = nullptr;
  EXPECT_EQ(SeenPod(Digits(), pod), before);
  kube::Keep(pod, PartsOfPod());
  EXPECT_EQ(SeenPod(Digits(), pod), before);
}

TEST(SeenPodTest, ForeignPodsAreNotTheJobs) {
  Json other_owner = Worker({}), no_owner = Worker({}), other_name = Worker({});
  other_owner["metadata"]["ownerReferences"][0]["uid"] = "uid-2";
  no_owner["metadata"].erase("ownerReferences");
  other_name["metadata"]["name"] = "figures-worker-3";
  EXPECT_FALSE(SeenPod(Digits(), other_owner).has_value());
  EXPECT_FALSE(SeenPod(Digits(), no_owner).has_value());
  EXPECT_FALSE(SeenPod(Digits(), other_name).has_value());
  EXPECT_FALSE(SeenPod(Digits(), Json::object()).has_value());
}

TEST(SeenPodTest, RunsWhenItsOwnContainerRuns) {
  const Json running = {{"running", {{"startedAt", "2026-01-31T09:30:07Z"}}}};
  const SeenProcess seen =
      Seen({{"phase", "Running"},
            {"containerStatuses", Json::array({{{"name", "worker"}, {"state", running}}})}});
  EXPECT_EQ(seen.state, ProcessState::kRunning);
  EXPECT_EQ(seen.started_at, job::ParseTime("2026-01-31T09:30:07Z"));
}

TEST(SeenPodTest, SaysWhyItWaitsAndWhere) {
  Json pod = Worker(
      {{"phase", "Pending"},
       {"containerStatuses",
        Json::array({{{"name", "worker"},
                      {"state",
                       {{"waiting",
                         {{"reason", "ImagePullBackOff"}, {"message", "Back-off pulling"}}}}}}})}});
  pod["spec"]["nodeName"] = "node-2";
  const SeenProcess waiting = *SeenPod(Digits(), pod);
  EXPECT_EQ(waiting.state, ProcessState::kPending);
  EXPECT_EQ(waiting.node, "node-2");
  EXPECT_EQ(waiting.waiting_reason, "ImagePullBackOff");
  EXPECT_EQ(waiting.waiting_message, "Back-off pulling");
  EXPECT_FALSE(waiting.is_unschedulable);

  pod["status"]["containerStatuses"][0]["state"]["waiting"] = {{"reason", "ContainerCreating"}};
  EXPECT_EQ(SeenPod(Digits(), pod)->waiting_reason, "");

  const SeenProcess unschedulable = Seen({{"phase", "Pending"},
                                          {"conditions", Json::array({{{"type", "PodScheduled"},
                                                                       {"status", "False"},
                                                                       {"reason", "Unschedulable"},
                                                                       {"message", "0/3"}}})}});
  EXPECT_TRUE(unschedulable.is_unschedulable);
  EXPECT_EQ(unschedulable.waiting_message, "0/3");
}

TEST(SeenPodTest, IsReadyUnlessItsProbeSaysNo) {
  Json status = {{"phase", "Running"},
                 {"containerStatuses",
                  Json::array({{{"name", "worker"}, {"state", {{"running", Json::object()}}}}})}};
  EXPECT_TRUE(Seen(status).is_ready);
  status["conditions"] = Json::array({{{"type", "Ready"}, {"status", "False"}}});
  EXPECT_FALSE(Seen(status).is_ready);
}

TEST(SeenPodTest, KnowsWhenItShouldHaveBeenGone) {
  Json pod = Worker({{"phase", "Running"}});
  pod["metadata"]["deletionTimestamp"] = "2026-01-31T09:40:00Z";
  EXPECT_TRUE(SeenPod(Digits(), pod)->is_stopping);
  EXPECT_EQ(SeenPod(Digits(), pod)->gone_by, job::ParseTime("2026-01-31T09:40:00Z"));
}

TEST(SeenPodTest, ASidecarsEndIsNotTheProcessesEnd) {
  const SeenProcess seen =
      Seen({{"phase", "Running"},
            {"containerStatuses",
             Json::array({{{"name", "side"}, {"state", {{"terminated", {{"exitCode", 1}}}}}},
                          {{"name", "worker"}, {"state", {{"running", Json::object()}}}}})}});
  EXPECT_EQ(seen.state, ProcessState::kRunning);
}

TEST(SeenPodTest, OwnEndCountsThoughASidecarStillRuns) {
  const SeenProcess seen =
      Seen({{"phase", "Running"},
            {"containerStatuses",
             Json::array({{{"name", "side"}, {"state", {{"running", Json::object()}}}},
                          {{"name", "worker"}, {"state", {{"terminated", {{"exitCode", 0}}}}}}})}});
  EXPECT_EQ(seen.state, ProcessState::kExited);
  EXPECT_EQ(seen.exit_code, 0);
  EXPECT_TRUE(seen.is_outlived);
  EXPECT_FALSE(Seen(Ended(0, "Completed")).is_outlived);
}

TEST(SeenPodTest, FailureHasItsCodeTimeAndLastWord) {
  const SeenProcess seen = Seen(Ended(3, "Error", "cannot open cnn.pt\n"));
  EXPECT_EQ(seen.state, ProcessState::kExited);
  EXPECT_EQ(seen.exit_code, 3);
  EXPECT_EQ(seen.signal, 0);
  EXPECT_FALSE(seen.is_disruption);
  EXPECT_EQ(seen.last_word, "cannot open cnn.pt");
  EXPECT_EQ(seen.ended_at, job::ParseTime("2026-01-31T09:31:00Z"));
}

TEST(SeenPodTest, OfAProgramThatIsNotOursTheLastLineIsTheLastWord) {
  const Json pod =
      Worker(Ended(1, "Error", "...)\n  File \"train.py\", line 4\nImportError: no torch\n\n"));
  job::TrainingJob job = Digits();
  EXPECT_EQ(SeenPod(job, pod)->last_word.substr(0, 4), "...)");
  job.spec.workers.command = {"python3", "train.py"};
  EXPECT_EQ(SeenPod(job, pod)->last_word, "ImportError: no torch");
}

TEST(SeenPodTest, OfACoordinatorsLastStateTheReasonIsTheLastWord) {
  const SeenProcess seen = Seen(
      Ended(1, "Error", R"({"phase":"over","finished":{"success":false,"reason":"too bad"}})"));
  EXPECT_EQ(seen.last_word, "too bad");
}

TEST(SeenPodTest, OutOfMemoryIsTheProcessesOwnFault) {
  const SeenProcess seen = Seen(Ended(137, "OOMKilled"));
  EXPECT_EQ(seen.signal, 9);
  EXPECT_FALSE(seen.is_disruption);
  EXPECT_TRUE(seen.is_out_of_memory);
  EXPECT_NE(seen.last_word.find("OOMKilled"), std::string::npos);
}

// For failurePolicy.rules to match.
TEST(SeenPodTest, OfOneThatEndedTheConditionsAreKnown) {
  Json ended = Ended(143, "Error");
  ended["conditions"] = {{{"type", "DisruptionTarget"}, {"status", "True"}},
                         {{"type", "Ready"}, {"status", "Unknown"}},
                         {{"type", "Odd"}, {"status", "Perhaps"}}};
  const std::vector<job::SeenPodCondition> known = {
      {"DisruptionTarget", job::ConditionStatus::kTrue}, {"Ready", job::ConditionStatus::kUnknown}};
  EXPECT_EQ(Seen(ended).conditions, known);
  ended.erase("containerStatuses");  // It never began.
  EXPECT_EQ(Seen(ended).conditions, known);
}

TEST(SeenPodTest, OfOneThatWasKilledItsMemoryLimitIsKnown) {
  Json pod = Worker(Ended(137, "Error"));
  pod["spec"]["containers"].push_back(
      {{"name", "sidecar"}, {"resources", {{"limits", {{"memory", "1Gi"}}}}}});
  EXPECT_EQ(SeenPod(Digits(), pod)->memory_limit, "");
  pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = "40Mi";
  EXPECT_EQ(SeenPod(Digits(), pod)->memory_limit, "40Mi");
  kube::Keep(pod, PartsOfPod());
  EXPECT_EQ(SeenPod(Digits(), pod)->memory_limit, "40Mi");
}

TEST(SeenPodTest, BeingTakenAwayIsADisruption) {
  Json evicted = {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "low on memory"}};
  EXPECT_TRUE(Seen(evicted).is_disruption);
  EXPECT_EQ(Seen(evicted).last_word, "low on memory");
  EXPECT_FALSE(Seen(Ended(137, "Error")).is_disruption);
}

TEST(SeenPodTest, AFailedInitContainerSpeaksForThePod) {
  const SeenProcess seen = Seen(
      {{"phase", "Failed"},
       {"initContainerStatuses",
        Json::array({{{"name", "fetch"},
                      {"state", {{"terminated", {{"exitCode", 4}, {"message", "no data"}}}}}}})},
       {"containerStatuses",
        Json::array({{{"name", "worker"}, {"state", {{"waiting", Json::object()}}}}})}});
  EXPECT_EQ(seen.state, ProcessState::kExited);
  EXPECT_EQ(seen.exit_code, 4);
  EXPECT_EQ(seen.last_word, "no data");
}

TEST(SeenPodTest, AGatedPodIsNotUnschedulable) {
  const SeenProcess seen = Seen({{"phase", "Pending"},
                                 {"conditions", Json::array({{{"type", "PodScheduled"},
                                                              {"status", "False"},
                                                              {"reason", "SchedulingGated"}}})}});
  EXPECT_TRUE(seen.is_gated);
  EXPECT_FALSE(seen.is_unschedulable);
}

TEST(SeenPodTest, KnowsSinceWhenItsNodeWasLost) {
  Json pod =
      Worker({{"phase", "Running"},
              {"conditions", Json::array({{{"type", "DisruptionTarget"},
                                           {"status", "True"},
                                           {"reason", "DeletionByTaintManager"},
                                           {"lastTransitionTime", "2026-01-31T09:40:30Z"}}})}});
  pod["metadata"]["deletionTimestamp"] = "2026-01-31T09:41:00Z";
  const auto seen = SeenPod(Digits(), pod);
  ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->gone_by, job::ParseTime("2026-01-31T09:41:00Z"));
  EXPECT_EQ(seen->node_lost_since, job::ParseTime("2026-01-31T09:40:00Z"));  // 30 s tolerated.
}

TEST(SeenPodTest, OddStatusNeverThrows) {
  for (const Json& status : {Json("text"), Json(3), Json{{"phase", 7}, {"containerStatuses", "x"}},
                             Json{{"containerStatuses", Json::array({1, nullptr})}}})
    EXPECT_TRUE(SeenPod(Digits(), Worker(status)).has_value()) << status;
}

}  // namespace
}  // namespace paceline::controller
