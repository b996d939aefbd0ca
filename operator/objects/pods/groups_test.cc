// What a job with several groups of workers has of pods and of all around them.
#include <chrono>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/manifest/defaults.h"
#include "operator/objects/children.h"
#include "operator/objects/objects_testing.h"
#include "operator/objects/pods/pod_group.h"
#include "operator/objects/secrets.h"

namespace paceline::controller {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

job::TrainingJob Grouped() {
  job::TrainingJob job = Digits();
  job.spec.workers = {};
  job.spec.workers.groups = {
      {.name = "big",
       .replicas = 3,
       .min_replicas = 2,
       .max_replicas = 300,
       .pod_template = Yaml("{spec: {nodeSelector: {pool: a100}, containers: [{name: worker, "
                            "resources: {limits: {nvidia.com/gpu: 1}}}]}}")},
      {.name = "small",
       .replicas = 2,
       .min_replicas = 1,
       .pod_template = Yaml("{spec: {nodeSelector: {pool: spot}}}")}};
  job::ApplyDefaults(job);
  return job;
}

job::Start StartIn(const std::string& group, int64_t index) {
  job::Start start = StartOf(job::Role::kWorker, index);
  start.name = job::ProcessName("digits", job::Role::kWorker, index, group);
  start.group = group;
  return start;
}

TEST(GroupsTest, APodIsNamedLabelledAndCertifiedByGroupAndIndex) {
  const Json pod = BuildPod(Grouped(), StartIn("big", 257), kOptions);
  EXPECT_EQ(pod["metadata"]["name"], "digits-big-257");
  EXPECT_EQ(pod["spec"]["hostname"], "digits-big-257");
  const Json& labels = pod["metadata"]["labels"];
  EXPECT_EQ(labels["paceline.dev/role"], "worker");
  EXPECT_EQ(labels["paceline.dev/group"], "big");
  EXPECT_EQ(labels["paceline.dev/index"], "257");
  EXPECT_EQ(After(Arguments(pod), "--group"), "big");
  EXPECT_EQ(After(Arguments(pod), "--index"), "257");
  EXPECT_EQ((*Named(pod["spec"]["volumes"], "paceline-tls"))["secret"]["secretName"],
            "digits-big-tls-1");
  EXPECT_EQ(TlsName(Grouped(), {tls::Role::kWorker, 257, "big"}), "big-257.digits.research");
  EXPECT_THAT(Arguments(Pod(Digits(), job::Role::kWorker)), Not(Contains("--group")));
}

TEST(GroupsTest, EachHasItsTemplateAndItsDevice) {
  const Json big = BuildPod(Grouped(), StartIn("big", 0), kOptions);
  const Json small = BuildPod(Grouped(), StartIn("small", 0), kOptions);
  EXPECT_EQ(big["spec"]["nodeSelector"]["pool"], "a100");
  EXPECT_EQ(small["spec"]["nodeSelector"]["pool"], "spot");
  EXPECT_EQ(After(Arguments(big), "--device"), "cuda");
  EXPECT_EQ(After(Arguments(small), "--device"), "cpu");
  EXPECT_EQ(big["spec"]["containers"][0]["image"], "cuda:1");
  EXPECT_EQ(small["spec"]["containers"][0]["image"], "worker:1");
  EXPECT_EQ(TemplatePath(Grouped().spec, StartIn("small", 0)), "spec.workers.groups[1].template");
  EXPECT_EQ(BuildConfigMap(Grouped()).dump().find("nodeSelector"), std::string::npos);
}

TEST(GroupsTest, CertificatesAreIssuedAheadForEach) {
  using tls::Role;
  EXPECT_THAT(
      TlsBlocksOf(Grouped()),
      ElementsAre(TlsBlock{Role::kPs, 0, 2}, TlsBlock{Role::kWorker, 0, 256, "big"},
                  TlsBlock{Role::kWorker, 1, 44, "big"}, TlsBlock{Role::kWorker, 0, 2, "small"},
                  TlsBlock{Role::kEvaluator, 0, 1}));
  const IssuedBlock issued{.credentials = {{"first", "first key"}},
                           .renew_at = Time(std::chrono::seconds(1'900'000'000))};
  const Json secret =
      BuildTlsSecret(Grouped(), {Role::kWorker, 0, 1, "big"}, issued, "authority", "seal");
  EXPECT_EQ(secret["metadata"]["name"], "digits-big-tls-0");
  EXPECT_TRUE(ReadTlsSecret(Grouped(), {Role::kWorker, 0, 1, "big"}, secret, "seal"));
  EXPECT_FALSE(ReadTlsSecret(Grouped(), {Role::kWorker, 0, 1, "small"}, secret, "seal"));
}

TEST(GroupsTest, EachHasABudgetOfItsOwnWhereItLeavesRoom) {
  const std::vector<BudgetOfGroup> budgets = BuildDisruptionBudgets(Grouped());
  ASSERT_EQ(budgets.size(), 2u);
  EXPECT_EQ(budgets[0].name, "digits-big-budget");
  ASSERT_TRUE(budgets[0].budget.has_value());
  EXPECT_EQ((*budgets[0].budget)["spec"]["minAvailable"], 2);
  EXPECT_EQ((*budgets[0].budget)["spec"]["selector"]["matchLabels"]["paceline.dev/group"], "big");
  EXPECT_FALSE(budgets[1].budget.has_value());
}

TEST(GroupsTest, AGangHasWhatEachNeeds) {
  job::TrainingJob job = Grouped();
  job.spec.run_policy.scheduling_policy.queue = "research";
  ObjectOptions options = kOptions;
  options.gang_scheduler = GangScheduler::kVolcano;
  const Json group = *BuildPodGroup(job, options);
  EXPECT_EQ(group["spec"]["minMember"], 5);  // 2 shards, 2 big, 1 small.
  EXPECT_EQ(group["spec"]["minTaskMember"], (Json{{"ps", 2}, {"big", 2}, {"small", 1}}));
  const Json pod = BuildPod(job, StartIn("small", 1), options);
  EXPECT_EQ(pod["metadata"]["annotations"]["volcano.sh/task-spec"], "small");
  job.spec.run_policy.scheduling_policy.min_available = 3;
  EXPECT_FALSE((*BuildPodGroup(job, options))["spec"].contains("minTaskMember"));
  options.gang_scheduler = GangScheduler::kCoscheduling;
  EXPECT_FALSE((*BuildPodGroup(job, options))["spec"].contains("minTaskMember"));
  EXPECT_FALSE(Pod(Digits(), job::Role::kWorker)["metadata"]["annotations"].contains(
      "volcano.sh/task-spec"));
}

}  // namespace
}  // namespace paceline::controller
