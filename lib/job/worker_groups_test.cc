#include "lib/job/worker_groups.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/process_name.h"

namespace paceline::job {
namespace {

Workers Grouped() {
  Workers workers;
  workers.groups = {{.name = "big",
                     .replicas = 2,
                     .min_replicas = 1,
                     .max_replicas = 4,
                     .pod_template = {},
                     .device = Device::kCuda},
                    {.name = "spot",
                     .replicas = 0,
                     .min_replicas = 3,
                     .max_replicas = 8,
                     .pod_template = {},
                     .device = Device::kAuto,
                     .threads = 2}};
  return workers;
}

TEST(WorkerGroups, TheShortFormIsOneWithoutAName) {
  Workers workers;
  workers.replicas = 4;
  workers.min_replicas = 2;
  workers.threads = 3;
  const std::vector<GroupView> groups = GroupsOf(workers);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].name, "");
  EXPECT_EQ(groups[0].replicas, 4);
  EXPECT_EQ(groups[0].needed, 2);
  EXPECT_EQ(groups[0].most, 4);
  EXPECT_EQ(groups[0].threads, 3);
  EXPECT_EQ(groups[0].path, "spec.workers");
  EXPECT_EQ(groups[0].pod_template, &workers.pod_template);
  EXPECT_EQ(NeededOf(workers), 2);
}

TEST(WorkerGroups, NumbersOfAJobAreThoseOfAllGroups) {
  const Workers workers = Grouped();
  EXPECT_EQ(ReplicasOf(workers), 2);
  EXPECT_EQ(MostOf(workers), 12);
  EXPECT_EQ(NeededOf(workers), 1) << "of a group of none, none are needed";
  EXPECT_EQ(GroupsOf(workers)[1].path, "spec.workers.groups[1]");
  EXPECT_EQ(FindGroup(workers, "spot")->threads, 2);
  EXPECT_FALSE(FindGroup(workers, "").has_value());
  EXPECT_FALSE(FindGroup(workers, "gone").has_value());
}

TEST(WorkerGroups, NoNumbersOverflow) {
  Workers workers = Grouped();
  workers.groups[0].replicas = workers.groups[1].replicas = std::numeric_limits<int64_t>::max();
  EXPECT_GT(ReplicasOf(workers), 1'000'000);
  workers.groups[0].replicas = workers.groups[1].replicas = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(ReplicasOf(workers), 0);
}

TEST(WorkerGroups, NoTwoJobsHaveAPodOfOneName) {
  for (const char* const good : {"a", "big", "a100", "x0y"}) EXPECT_TRUE(IsGroupName(good)) << good;
  for (const char* const bad :
       {"", "ps", "worker", "evaluator", "operator", "4g", "a-b", "A", "a_b", "a.b", "-", "ä"})
    EXPECT_FALSE(IsGroupName(bad)) << bad;
  EXPECT_EQ(ProcessName("digits", Role::kWorker, 3, "big"), "digits-big-3");
  EXPECT_EQ(ProcessName("digits", Role::kWorker, 3), "digits-worker-3");
  EXPECT_NE(ProcessName("digits", Role::kWorker, 3, "big"),
            ProcessName("digits-big", Role::kWorker, 3));
}

TEST(ProcessName, ReadsBackWhatItWrote) {
  const NamedProcess all[] = {{Role::kParameterServer, {"ps", 0}},
                              {Role::kWorker, {"worker", 12}},
                              {Role::kWorker, {"a100", 3}},
                              {Role::kEvaluator, {"evaluator", 0}}};
  for (const NamedProcess& one : all) {
    for (const char* const job : {"digits", "digits-worker", "a-0"}) {
      const std::string name = ProcessName(job, one.id);
      EXPECT_EQ(ReadProcessName(job, name), one) << name;
    }
  }
  for (const char* const none :
       {"", "digits", "digits-", "digits-worker", "digits-worker-", "digits-worker-x",
        "digits-worker-03", "digits-worker--3", "digits-worker-3 ", "digits-evaluator-0",
        "digits-operator-0", "digits-a-100-3", "digits-worker-99999999999999999999",
        "digit-worker-3", "digits2-worker-3", "worker-3"})
    EXPECT_EQ(ReadProcessName("digits", none), std::nullopt) << none;
}

}  // namespace
}  // namespace paceline::job
