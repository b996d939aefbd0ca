// Clocks of nodes and of the API server that are minutes off lead to the decisions that right ones
// lead to.
#include "operator/controller/pods/pod_clocks.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/rfc3339.h"
#include "lib/job/manifest/defaults.h"
#include "lib/job/plan/plan.h"
#include "operator/controller/pods/own_pod.h"

namespace paceline::controller {
namespace {

using kube::Json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Time kNoon = Time(Seconds(1'800'000'000));
constexpr int64_t kServerGrace = 60;

// A job of one server and two workers whose pods are written by clocks that are `skew` ahead of
// the operator's.
class ClocksTest : public ::testing::TestWithParam<int> {
 protected:
  ClocksTest() {
    job_.metadata.name = "digits";
    job_.metadata.name_space = "research";
    job_.metadata.uid = "uid-1";
    job_.spec.workers.replicas = 2;
    job::ApplyDefaults(job_);
    for (const char* const name : {"digits-ps-0", "digits-worker-0", "digits-worker-1"}) Make(name);
    for (const auto& [name, pod] : pods_) Run(name);
  }

  std::string Written(Time at) const { return FormatTime(at + Seconds(GetParam())); }

  Json& Make(const std::string& name, int64_t attempt = 0) {
    const bool is_server = name == "digits-ps-0";
    const Json metadata = {
        {"name", name},
        {"creationTimestamp", Written(now_)},
        {"labels",
         {{"paceline.dev/role", is_server ? "ps" : "worker"},
          {"paceline.dev/index", name.substr(name.size() - 1)}}},
        {"annotations",
         {{"paceline.dev/attempt", std::to_string(attempt)},
          {"paceline.dev/generation-start", "1"}}},
        {"ownerReferences", Json::array({{{"uid", "uid-1"}, {"controller", true}}})}};
    pods_[name] = {{"metadata", metadata},
                   {"spec", {{"nodeName", "node-1"}}},
                   {"status", {{"phase", "Pending"}}}};
    return pods_[name];
  }

  void SetState(const std::string& name, const char* phase, Json state) {
    pods_[name]["status"] = {
        {"phase", phase},
        {"containerStatuses",
         Json::array({{{"name", name == "digits-ps-0" ? "ps" : "worker"}, {"state", state}}})}};
  }
  void Run(const std::string& name) {
    SetState(name, "Running", {{"running", {{"startedAt", Written(now_)}}}});
    began_[name] = now_;
  }
  void Fail(const std::string& name) {
    SetState(
        name, "Failed",
        {{"terminated",
          {{"exitCode", 1}, {"startedAt", Written(began_[name])}, {"finishedAt", Written(now_)}}}});
  }
  void Delete(const std::string& name, int64_t grace) {
    Json& metadata = pods_[name]["metadata"];
    metadata["deletionTimestamp"] = Written(now_ + std::chrono::seconds(grace));
    metadata["deletionGracePeriodSeconds"] = grace;
  }

  void Pass(double seconds) { now_ = now_ + Seconds(seconds); }

  // What a look at the job now decides.
  std::vector<std::string> Look() {
    std::vector<OwnPod> own;
    for (const auto& [name, pod] : pods_) {
      auto more = OwnPods(job_, {std::make_shared<const Json>(pod)});
      own.insert(own.end(), more.begin(), more.end());
    }
    clocks_.Correct(own, job_.spec.run_policy.node_lost_seconds, now_);
    job::Observation seen;
    for (const OwnPod& pod : own) seen.processes.push_back(pod.process);
    for (job::SeenProcess gone : gone_) {
      clocks_.CorrectGone(gone);
      seen.processes.push_back(gone);
    }
    seen.status = status_;
    seen.coordinator =
        job::CoordinatorReport{.generation_start = 1, .phase = job::TrainingPhase::kTraining};
    job::Plan plan = job::PlanJob(job_, seen, now_, {.can_recover_shards = true});
    status_ = plan.status;
    std::vector<std::string> actions;
    for (const job::Action& action : plan.actions) actions.push_back(ToString(action));
    return actions;
  }

  job::TrainingJob job_;
  job::JobStatus status_{.coordinator_starts = 1};
  Time now_ = kNoon;
  std::map<std::string, Json> pods_;
  std::map<std::string, Time> began_;
  std::vector<job::SeenProcess> gone_;
  PodClocks clocks_;
};

TEST_P(ClocksTest, WhoFailedIsStartedAgainAfterItsBackoff) {
  EXPECT_THAT(Look(), IsEmpty());
  Pass(30);
  Fail("digits-worker-1");
  EXPECT_THAT(Look(), IsEmpty()) << "not before the backoff of a second";
  Pass(1);
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("start digits-worker-1")));
}

// Ten minutes without failure forgive, nine do not.
TEST_P(ClocksTest, FailuresAreForgivenAfterTenMinutes) {
  Look();
  Make("digits-worker-1", 3)["metadata"]["annotations"]["paceline.dev/failures"] = "3";
  Run("digits-worker-1");
  Look();
  Pass(9 * 60);
  Fail("digits-worker-1");
  EXPECT_THAT(Look(), IsEmpty());
  Pass(7.9);
  EXPECT_THAT(Look(), IsEmpty()) << "the fourth failure in a row";
  Pass(0.1);
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("attempt=4 failures=4")));
  Make("digits-worker-1", 4)["metadata"]["annotations"]["paceline.dev/failures"] = "4";
  Run("digits-worker-1");
  Look();
  Pass(11 * 60);
  Fail("digits-worker-1");
  Look();
  Pass(1);
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("attempt=5 failures=1")));
}

TEST_P(ClocksTest, WhoWaitsIsMadeAnewWhenItIsTime) {
  Look();
  Json& pod = Make("digits-worker-1", 1);
  pod["status"]["conditions"] =
      Json::array({{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}}});
  EXPECT_THAT(Look(), IsEmpty());
  Pass(4 * 60 - 1);  // scheduleTimeoutSeconds is 60, and this is its second start.
  EXPECT_THAT(Look(), IsEmpty());
  Pass(1);
  EXPECT_THAT(Look(), ElementsAre("stop digits-worker-1 PendingTooLong"));
}

TEST_P(ClocksTest, WhoWasAskedToGoHasItsGraceAndNodeLostSeconds) {
  Look();
  Delete("digits-worker-1", 30);
  EXPECT_THAT(Look(), IsEmpty());
  Pass(59);
  EXPECT_THAT(Look(), IsEmpty());
  Pass(1);
  EXPECT_THAT(Look(), ElementsAre("stop digits-worker-1 NodeLost now"));
}

TEST_P(ClocksTest, WhoWasAskedToGoBeforeTheFirstLookHasNodeLostSecondsAtLeast) {
  Delete("digits-worker-1", 30);
  EXPECT_THAT(Look(), IsEmpty());
  Pass(29);
  EXPECT_THAT(Look(), IsEmpty());
  Pass(31);
  EXPECT_THAT(Look(), ElementsAre("stop digits-worker-1 NodeLost now"));
}

TEST_P(ClocksTest, WhoseNodeIsLostIsGivenUpAtOnce) {
  Look();
  Pass(100);
  Delete("digits-worker-1", 30);
  pods_["digits-worker-1"]["status"]["conditions"] =
      Json::array({{{"type", "DisruptionTarget"},
                    {"status", "True"},
                    {"reason", "DeletionByTaintManager"},
                    {"lastTransitionTime", Written(now_)}}});
  EXPECT_THAT(Look(), Contains("stop digits-worker-1 NodeLost now"));
}

// Its end is ours to date, its beginning is on its node's clock.
TEST_P(ClocksTest, WhosePodIsGoneHasRunForAsLongAsItHas) {
  Look();
  Make("digits-worker-1", 3)["metadata"]["annotations"]["paceline.dev/disruptions"] = "3";
  Run("digits-worker-1");
  Look();
  Pass(9 * 60);
  job::SeenProcess gone =
      OwnPods(job_, {std::make_shared<const Json>(pods_["digits-worker-1"])}).at(0).process;
  gone.state = job::ProcessState::kExited;
  gone.is_disruption = true;
  gone.ended_at = now_;
  gone_ = {gone};
  pods_.erase("digits-worker-1");
  EXPECT_THAT(Look(), IsEmpty());
  Pass(8);  // The fourth time in a row: ten minutes would have forgiven.
  EXPECT_THAT(Look(), ElementsAre(HasSubstr("attempt=4 failures=0 disruptions=4")));
}

INSTANTIATE_TEST_SUITE_P(Skews, ClocksTest, ::testing::Values(0, -300, 300), [](const auto& info) {
  return info.param == 0 ? "None" : info.param > 0 ? "FiveMinutesAhead" : "FiveMinutesBehind";
});

}  // namespace
}  // namespace paceline::controller
