// What people see of the definition: columns, kubectl explain, kubectl apply in both ways.
#include <cstdio>
#include <filesystem>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lib/base/testing/places.h"
#include "tests/crd/corpus.h"
#include "tests/crd/world.h"

namespace paceline::crd_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// The kubectl beside the API server's binary, else the one in the PATH. Empty if there is none.
std::string Kubectl(const World& world) {
  const StatusOr<std::string> folder = kube::testing::FindBinaries();
  const std::string beside = folder.ok() ? *folder + "/kubectl" : "";
  const bool is_beside = !beside.empty() && std::filesystem::exists(beside);
  if (!is_beside && std::system("command -v kubectl >/dev/null 2>&1") != 0) return "";
  return fmt::format("'{}' --kubeconfig '{}'", is_beside ? beside : "kubectl",
                     world.server().kubeconfig());
}

// What the command printed, errors too; a failure of it fails the test.
std::string Output(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  char buffer[4096];
  while (const size_t count = std::fread(buffer, 1, sizeof(buffer), pipe))
    text.append(buffer, count);
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << command << "\n" << text;
  return text;
}

void MakeTrainingJob(World& world, const std::string& name) {
  Json job = SmallJob(name);
  const StatusOr<Json> made = world.client().Call(kube::Create(TrainingJobs(), job));
  ASSERT_TRUE(made.ok()) << made.status();
  job = *made;
  job["status"] = {
      {"state", "Running"},
      {"readyWorkers", "3/4"},
      {"restarts", 2},
      {"sync",
       {{"scheme", "DBW"}, {"waitingFor", 3}, {"backupWorkers", 1}, {"summary", "DBW k=3"}}},
      {"progress",
       {{"step", 1200},
        {"epoch", 1.5},
        {"percent", 10},
        {"done", "10%, step 1200"},
        {"eta", "12m05s"},
        {"loss", 0.31},
        {"accuracy", 0.925},
        {"slowest", "digits-worker-3 1.8x"}}},
      {"standstill", "shard s1 is lost: no heartbeat for 6 s"}};
  ASSERT_TRUE(
      world.client().Call(kube::Update(TrainingJobs(), job, {.subresource = "status"})).ok());
}

TEST(Printing, GivesTheColumnsOfAListAndTheirValues) {
  PACELINE_CRD_WORLD(world);
  MakeTrainingJob(world, "columns");
  kube::Request request = kube::Get(TrainingJobs(), {"default", "columns"});
  request.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const StatusOr<kube::Response> response = world.client().CallRaw(std::move(request));
  ASSERT_TRUE(response.ok()) << response.status();
  const Json table = Json::parse(response->body);
  std::string names, values;
  for (size_t i = 0; i < table["columnDefinitions"].size(); ++i) {
    const Json& column = table["columnDefinitions"][i];
    if (column["priority"] != 0 || column["name"] == "Age") continue;
    const Json& cell = table["rows"][0]["cells"][i];
    names += column["name"].get<std::string>() + " ";
    values += (cell.is_string() ? cell.get<std::string>() : cell.dump()) + " ";
  }
  EXPECT_EQ(names, "Name State Progress ETA Accuracy Workers Scheme Slowest Standstill ");
  EXPECT_EQ(
      values,
      "columns Running 10%, step 1200 12m05s 0.925 3/4 DBW k=3 digits-worker-3 1.8x shard s1 is "
      "lost: no heartbeat for 6 s ");
}

TEST(Printing, KubectlShowsExplainsAndFindsThem) {
  PACELINE_CRD_WORLD(world);
  const std::string kubectl = Kubectl(world);
  if (kubectl.empty()) GTEST_SKIP() << "there is no kubectl";
  MakeTrainingJob(world, "shown");
  EXPECT_THAT(Output(kubectl + " get tj shown"),
              ContainsRegex("NAME +STATE +PROGRESS +ETA +ACCURACY +WORKERS +SCHEME +SLOWEST +AGE "
                            "+STANDSTILL *\n"
                            "shown +Running +10%, step 1200 +12m05s +0.925 +3/4 +DBW k=3 +"
                            "digits-worker-3 1.8x +"));
  EXPECT_THAT(Output(kubectl + " get paceline"), HasSubstr("shown"));
  EXPECT_THAT(Output(kubectl + " get all"), HasSubstr("shown"));
  const std::string explained = Output(kubectl + " explain tj.spec.sync");
  EXPECT_THAT(explained, HasSubstr("the synchronisation scheme; may change while the job runs"));
  EXPECT_THAT(explained, HasSubstr("enum: BSP, SSP, ASP"));
  EXPECT_THAT(Output(kubectl + " explain tj.status.progress.eta"),
              HasSubstr("the same for people"));
}

TEST(Printing, KubectlAppliesTheDefinitionInBothWays) {
  PACELINE_CRD_WORLD(world);
  const std::string kubectl = Kubectl(world);
  if (kubectl.empty()) GTEST_SKIP() << "there is no kubectl";
  const std::string folder = InSource("deploy/crd");
  const std::string flags = " --server-side --force-conflicts -f ";
  EXPECT_THAT(Output(fmt::format("{} apply{}'{}'", kubectl, flags, folder)),
              HasSubstr("serverside"));
  // Client-side apply keeps the object in an annotation of at most 262144 bytes.
  Output(fmt::format("{} apply -f '{}'", kubectl, folder));
  EXPECT_THAT(Output(fmt::format("{} apply -f '{}'", kubectl, folder)), HasSubstr("unchanged"));
}

}  // namespace
}  // namespace paceline::crd_test
