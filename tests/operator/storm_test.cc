// Many jobs at once: bad ones that must not stop the operator, and finished ones that must cost it
// nothing.

#include <map>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/testing/fuzzed_job.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"
#include "operator/controller/resources.h"
#include "tests/operator/job.h"
#include "tests/operator/writes.h"

namespace paceline::operator_test {
namespace {

using controller::TrainingJobs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class StormTest : public ::testing::Test {
 protected:
  void SetUp() override {
    world_ = World::Get();
    if (world_ == nullptr) GTEST_SKIP() << "no kube-apiserver and etcd";
  }

  World* world_ = nullptr;
};

// Five hundred jobs made up from the schema. The API server refuses many; whatever it takes, the
// operator looks at, and goes on.
TEST_F(StormTest, BadObjectsStopNobody) {
  OperatorProcess the_operator(*world_, {"--leader-elect=false"});
  const std::string space = world_->NewNamespace();
  std::vector<kube::Request> requests;
  job::testing::JobFuzzer fuzzer(20260131);
  for (int i = 0; i < 500; ++i) {
    Json job = fuzzer.Next().object;
    job["metadata"]["namespace"] = space;
    requests.push_back(kube::Create(TrainingJobs(), job));
  }
  int accepted = 0;
  for (const auto& answer : world_->client().CallAll(std::move(requests))) accepted += answer.ok();
  EXPECT_GT(accepted, 50);
  EXPECT_LT(accepted, 500);
  // Every job that was accepted is looked at: its status says something.
  EXPECT_TRUE(testing::Eventually(
      [&] {
        const auto jobs = world_->client().ListAll(TrainingJobs(), {.name_space = space});
        if (!jobs.ok()) return false;
        for (const Json& job : jobs->items) {
          const bool is_ours =
              kube::StringAt(job, "/spec/runPolicy/managedBy") == "paceline.dev/operator";
          if (is_ours && kube::Find(job, "/status/conditions") == nullptr) return false;
        }
        return true;
      },
      120));
  Job good(*world_, "good");
  EXPECT_TRUE(good.WaitForPods(good.AllPodNames(), 120));
  EXPECT_EQ(the_operator.Log().find("\"threw\""), std::string::npos);
  world_->Kubectl(fmt::format("delete namespace {} --wait=false", space));
  world_->Kubectl(fmt::format("delete tj --all -n {} --wait=false", space));
}

// "create pods", of "create /api/v1/namespaces/t2/pods?fieldManager=...".
std::string VerbAndResource(const std::string& request) {
  const std::string path = request.substr(0, request.find('?'));
  return request.substr(0, request.find(' ') + 1) + path.substr(path.rfind('/') + 1);
}

bool IsIn(const std::string& request, const std::string& name_space) {
  return request.find("/namespaces/" + name_space + "/") != std::string::npos;
}

// From the first word of it until all run: each object is written once, the status as often as
// there is news, and what the operator's watches show is not asked for.
TEST_F(StormTest, AJobCostsOneRequestForEachOfItsObjects) {
  OperatorProcess the_operator(*world_, {"--leader-elect=false"});
  ASSERT_TRUE(the_operator.WaitForText("\"leading\""));
  const Writes writes(world_->server().audit_log());
  ASSERT_TRUE(Job(*world_, "first").WaitForCondition("Created"));  // Makes what all share.
  ASSERT_TRUE(writes.WaitForQuiet(60));
  const size_t from = writes.LinesSoFar();
  Job job(*world_, "digits");
  ASSERT_TRUE(job.WaitForPods(job.AllPodNames()));
  job.RunAll();
  ASSERT_TRUE(job.WaitForCondition("ResourcesReady"));
  ASSERT_TRUE(writes.WaitForQuiet(60));
  std::map<std::string, int> counts;
  for (const std::string& write : writes.Since(from)) ++counts[VerbAndResource(write)];
  // The fewer looks a busy operator takes, the fewer there are of these.
  EXPECT_LE(counts["patch status"], 5);
  EXPECT_LE(counts["create events"], 3);
  counts.erase("patch status");
  counts.erase("create events");
  EXPECT_THAT(counts, ElementsAre(Pair("create configmaps", 1), Pair("create networkpolicies", 1),
                                  Pair("create poddisruptionbudgets", 1), Pair("create pods", 5),
                                  Pair("create secrets", 3), Pair("create services", 1)));
  EXPECT_THAT(writes.ReadsSince(from), IsEmpty());
}

// A hundred jobs that are over, and one that is so by its own work and has its pods and children
// yet, for as long as it takes to see that nothing is written and nothing read: the longest period
// there is, between two looks at a job's Secrets, is half a minute.
TEST_F(StormTest, FinishedJobsCostNoRequests) {
  OperatorProcess the_operator(*world_, {"--leader-elect=true"});
  // Before that it is quiet for another reason.
  ASSERT_TRUE(the_operator.WaitForText("\"leading\""));
  Job trained(*world_, "trained");
  ASSERT_TRUE(trained.WaitForPods(trained.AllPodNames()));
  trained.RunAll();
  trained.End("trained-ps-0", 0, R"({"phase":"over","finished":{"success":true,"reason":"done"}})");
  ASSERT_TRUE(trained.WaitForCondition("Succeeded"));
  const std::string space = world_->NewNamespace();
  const Json conditions = Json::array({{{"type", "Failed"},
                                        {"status", "True"},
                                        {"reason", "CannotWork"},
                                        {"message", "it is over"},
                                        {"observedGeneration", 1},
                                        {"lastTransitionTime", "2026-01-31T09:30:00Z"}}});
  for (int i = 0; i < 100; ++i) {
    testing::TrainingJob job(
        world_->client(), [&](const std::string& arguments) { return world_->Kubectl(arguments); },
        {space, fmt::format("over-{}", i)});
    Json spec = SmallSpec();
    spec["runPolicy"]["suspend"] = true;
    job.Create(spec);
    const Json status = {{"status",
                          {{"conditions", conditions},
                           {"completionTime", "2026-01-31T09:30:00Z"},
                           {"state", "Failed"}}}};
    ASSERT_TRUE(
        world_->client()
            .Call(kube::MergePatch(TrainingJobs(), job.key(), status, {.subresource = "status"}))
            .ok());
  }
  const Writes writes(world_->server().audit_log());
  ASSERT_TRUE(writes.WaitForQuiet(60));
  const size_t from = writes.LinesSoFar();
  ASSERT_TRUE(writes.WaitForRenewals(from, 35));  // Its own clock: it is at work.
  const auto is_of_another_test = [&](const std::string& request) {
    return request.find("/namespaces/") != std::string::npos && !IsIn(request, space) &&
           !IsIn(request, trained.name_space());
  };
  // Jobs of other tests are told of when they have been pending for too long, on a slow machine
  // now.
  for (const std::string& write : writes.Since(from))
    if (!is_of_another_test(write)) ADD_FAILURE() << write;
  for (const std::string& read : writes.ReadsSince(from)) {
    if (!is_of_another_test(read)) ADD_FAILURE() << read;
  }
  EXPECT_FALSE(trained.Pods().empty());
  // And still answers.
  Job good(*world_, "good");
  EXPECT_TRUE(good.WaitForPods(good.AllPodNames()));
}

}  // namespace
}  // namespace paceline::operator_test
