#include "operator/objects/seen/foreign_program.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/objects/objects_testing.h"
#include "operator/objects/seen/seen_pod.h"

namespace paceline::controller {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// As the kubelet has it of a pod that the job's operator made.
Json PodWith(job::Role role, const Json& container_status) {
  Json pod = Pod(Digits(), role);
  pod["spec"]["nodeName"] = "node-7";
  Json own = container_status;
  own["name"] = pod["spec"]["containers"][0]["name"];
  pod["status"] = {{"phase", "Failed"}, {"containerStatuses", Json::array({own})}};
  return pod;
}

Json Terminated(int code, const std::string& message, const std::string& reason = "Error") {
  return {
      {"state", {{"terminated", {{"exitCode", code}, {"reason", reason}, {"message", message}}}}}};
}

TEST(ForeignProgram, IsAMachinesAndSaysWhichImageAndWhatToDo) {
  for (const auto& [code, reason] : {std::pair{255, "Error"}, {1, "Error"}, {128, "StartError"}}) {
    const auto process = SeenPod(
        Digits(),
        PodWith(job::Role::kWorker, Terminated(code, "exec /app: exec format error\n", reason)));
    ASSERT_TRUE(process);
    EXPECT_EQ(process->state, job::ProcessState::kExited);
    EXPECT_EQ(process->exit_code, job::kExitCannotWorkHere);
    EXPECT_EQ(process->signal, 0);
    EXPECT_FALSE(process->is_disruption);
    EXPECT_EQ(process->last_word,
              "image worker:1 is not for its node's architecture: build it for that one too, or "
              "name kubernetes.io/arch in the template's nodeSelector (exec /app: exec format "
              "error)");
  }
}

// A script that says so of a program of its own has run.
TEST(ForeignProgram, OfAnotherProgramIsTheScriptsFailure) {
  const auto process = SeenPod(
      Digits(),
      PodWith(job::Role::kWorker, Terminated(1, "loading\nOSError: [Errno 8] Exec format error")));
  ASSERT_TRUE(process);
  EXPECT_EQ(process->exit_code, 1);
}

TEST(ForeignProgram, OfAnInitContainerIsNotCalledTheMainImages) {
  Json pod = PodWith(job::Role::kWorker, {{"state", {{"waiting", Json::object()}}}});
  Json init = Terminated(255, "exec /setup: exec format error");
  init["name"] = "setup";
  pod["status"]["initContainerStatuses"] = Json::array({init});
  const auto process = SeenPod(Digits(), pod);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->exit_code, job::kExitCannotWorkHere);
  EXPECT_THAT(process->last_word, StartsWith("the image of an init container is not for"));
}

// Nothing to pull for this machine: it waits, and says what would help.
TEST(ForeignImage, ThatCannotBePulledIsNamedAndSoIsWhatToDo) {
  for (const char* said :
       {"rpc error: code = NotFound desc = failed to pull and unpack image \"worker:1\": no match "
        "for platform in manifest: not found",
        "no matching manifest for linux/arm64/v8 in the manifest list entries",
        "choosing image instance: no image found in image index for architecture arm64, variant "
        "\"v8\", OS linux"}) {
    const Json waiting = {{"reason", "ErrImagePull"}, {"message", said}};
    Json pod = PodWith(job::Role::kWorker, {{"state", {{"waiting", waiting}}}});
    pod["status"]["phase"] = "Pending";
    const auto process = SeenPod(Digits(), pod);
    ASSERT_TRUE(process);
    EXPECT_EQ(process->waiting_reason, "ErrImagePull");
    EXPECT_THAT(process->waiting_message,
                StartsWith("image worker:1 is not for its node's architecture: build it for that "
                           "one too, or name kubernetes.io/arch"));
  }
  EXPECT_FALSE(IsForForeignImage("Back-off pulling image \"worker:1\""));
  EXPECT_FALSE(IsForForeignImage("manifest unknown"));
}

// What the operator reads of a pod has all of it.
TEST(ForeignProgram, IsSeenInWhatIsReadOfAPod) {
  Json pod = PodWith(job::Role::kWorker, Terminated(255, "exec /app: exec format error"));
  kube::Keep(pod, PartsOfPod());
  EXPECT_THAT(SeenPod(Digits(), pod)->last_word, HasSubstr("image worker:1 "));
}

}  // namespace
}  // namespace paceline::controller
