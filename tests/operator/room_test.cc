// Jobs whose pods find no machine, or are held back from them.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "tests/operator/one_operator.h"
#include "tests/operator/writes.h"

namespace paceline::operator_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using RoomTest = OneOperator;

// A job gives way after five times that.
Json ShortPatience() { return {{"schedulingPolicy", {{"scheduleTimeoutSeconds", "1s"}}}}; }

std::set<std::string> Uids(const std::map<std::string, Json>& pods) {
  std::set<std::string> uids;
  for (const auto& [name, pod] : pods) uids.insert(kube::Uid(pod));
  return uids;
}

// Pods of these roles are made with a gate, as Kueue does it with plain pods.
Json GatedSpec() {
  const Json gated = {
      {"template",
       {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}}},
        {"spec", {{"schedulingGates", Json::array({{{"name", "kueue.x-k8s.io/admission"}}})}}}}}};
  return {{"parameterServer", gated}, {"workers", gated}, {"runPolicy", ShortPatience()}};
}

// All are let go before the first runs: the job's patience begins with that.
void Admit(World& world, const Job& job, const std::vector<std::string>& pods) {
  for (const std::string& pod : pods) {
    world.Kubectl(
        fmt::format("patch pod {} -n {} --type=json -p "
                    R"('[{{"op": "remove", "path": "/spec/schedulingGates"}}]')",
                    pod, job.name_space()));
  }
  for (const std::string& pod : pods) job.Run(pod);
}

TEST_F(RoomTest, PodsThatAreHeldBackKeepTheirPlaceInTheQueue) {
  Job job(*world_, "digits", GatedSpec());
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const auto before = job.Pods();
  // A younger job, whose patience ends later, which nobody holds back.
  Job other(*world_, "other", {{"runPolicy", ShortPatience()}});
  ASSERT_TRUE(other.WaitForPods(other.AllPodNames()));
  other.Run("other-ps-0");
  other.HasNoRoom("other-ps-1");
  ASSERT_TRUE(other.WaitForMessage("ResourcesReady", "makes room"));
  EXPECT_EQ(Uids(job.Pods()), Uids(before));
  EXPECT_NE(job.Message("ResourcesReady").find("held back"), std::string::npos);
  Admit(*world_, job, job.AllPodNames());
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  EXPECT_EQ(Uids(job.Pods()), Uids(before));
}

TEST_F(RoomTest, OfPodsThatFindNoRoomTheEventsAreAskedForByUid) {
  // Then it is looked at, having waited for long enough.
  Job job(*world_, "digits",
          {{"runPolicy", {{"schedulingPolicy", {{"scheduleTimeoutSeconds", "31s"}}}}}});
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const Writes reads(world_->server().audit_log());
  const size_t from = reads.LinesSoFar();
  job.HasNoRoom("digits-worker-1");
  const std::string of_it =
      "fieldSelector=regarding.uid%3D" + kube::Uid(job.Pods().at("digits-worker-1"));
  EXPECT_TRUE(Eventually(
      [&] {
        const auto asked = reads.ReadsSince(from);
        return std::any_of(asked.begin(), asked.end(), [&](const std::string& read) {
          return read.find("/events?") != std::string::npos &&
                 read.find(of_it) != std::string::npos;
        });
      },
      120))
      << "asked for half a minute after the pod was made";
  EXPECT_THAT(operator_->Log(), Not(HasSubstr("forbidden")));
}

// Or two of them could wait for each other's other half for ever.
TEST_F(RoomTest, AJobThatIsAdmittedByHalvesMakesRoomAndComesBack) {
  Job job(*world_, "digits", GatedSpec());
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  const auto before = Uids(job.Pods());
  Job other(*world_, "other");
  ASSERT_TRUE(other.WaitForPods(other.AllPodNames()));
  other.HasNoRoom("other-ps-0");  // Else nobody would have a use for the room.
  Admit(*world_, job, {"digits-ps-0"});
  ASSERT_TRUE(job.WaitForMessage("ResourcesReady", "makes room"));
  EXPECT_TRUE(Eventually([&] {
    const auto now = Uids(job.Pods());
    return now.size() == before.size() &&
           std::none_of(now.begin(), now.end(),
                        [&](const std::string& uid) { return before.contains(uid); });
  })) << job.Describe();
}

}  // namespace
}  // namespace paceline::operator_test
