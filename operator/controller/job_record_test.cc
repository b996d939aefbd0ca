#include "operator/controller/job_record.h"

#include <chrono>

#include <gtest/gtest.h>

namespace paceline::controller {
namespace {

const kube::ObjectKey kDigits{"research", "digits"};
const kube::ObjectKey kWorker{"research", "digits-worker-1"};

job::SeenProcess Worker() {
  job::SeenProcess process;
  process.name = kWorker.name;
  return process;
}

TEST(JobRecords, AreMadeWhileLeadingAlone) {
  JobRecords records;
  EXPECT_EQ(records.Of(kDigits, "uid-1"), nullptr);
  EXPECT_EQ(records.size(), 0u);
  records.Lead();
  const auto record = records.Of(kDigits, "uid-1");
  ASSERT_NE(record, nullptr);
  EXPECT_EQ(records.Of(kDigits, "uid-1"), record);
  EXPECT_EQ(records.Find("uid-1"), record);
  EXPECT_EQ(records.Find("uid-2"), nullptr);
  EXPECT_EQ(records.size(), 1u);
  records.ForgetAll();
  EXPECT_EQ(records.Of(kDigits, "uid-1"), nullptr);
  EXPECT_EQ(records.size(), 0u);
}

// Each kind of ghost: what was remembered of the job before, when one of that name is there again.
TEST(JobRecords, AJobOfTheSameNameInheritsNothing) {
  JobRecords records;
  records.Lead();
  const auto former = records.Of(kDigits, "uid-1");
  former->gone_pods.PodGone("pod-1", Worker(), Time(std::chrono::seconds(5)));
  former->expectations.ExpectCreation(kDigits, kWorker);
  former->certificates.pods_due = Time::max();
  former->token = {.is_good = true, .version = "7"};
  former->unwritten.emplace().coordinator_starts = 3;
  former->refused = {kWorker.name};
  former->told_labels = {{"pod-1", "label paceline.dev/role is gone"}};
  former->claims_settled = 4;
  former->pods = Internal("no");
  former->children.generation = 1;
  ASSERT_FALSE(former->expectations.AreMet(kDigits));

  const auto record = records.Of(kDigits, "uid-2");
  std::vector<job::SeenProcess> processes;
  record->gone_pods.AddTo(processes);
  EXPECT_TRUE(processes.empty());
  EXPECT_TRUE(record->expectations.AreMet(kDigits));
  EXPECT_EQ(record->certificates.pods_due, Time::min());
  EXPECT_FALSE(record->token.is_good);
  EXPECT_FALSE(record->unwritten.has_value());
  EXPECT_TRUE(record->refused.empty());
  EXPECT_TRUE(record->told_labels.empty());
  EXPECT_EQ(record->claims_settled, 0);
  EXPECT_TRUE(record->pods.ok());
  EXPECT_EQ(record->children.generation, 0);
  // And the former one is forgotten: what is still seen of its pods is noted nowhere.
  EXPECT_EQ(records.Find("uid-1"), nullptr);
  EXPECT_EQ(records.size(), 1u);
}

TEST(JobRecords, ForgetLeavesNothing) {
  JobRecords records;
  records.Lead();
  for (int i = 0; i < 100; ++i) {
    const std::string uid = std::to_string(i);
    records.Of({"research", "job-" + std::to_string(i % 10)}, uid)->gone_pods.Expect("pod-" + uid);
  }
  EXPECT_EQ(records.size(), 10u);
  for (int i = 0; i < 10; ++i) records.Forget({"research", "job-" + std::to_string(i)});
  EXPECT_EQ(records.size(), 0u);
  EXPECT_EQ(records.Find("99"), nullptr);
  records.Forget(kDigits);  // Of one that it does not know.
}

TEST(GonePods, ShowAPodThatWentAwayUntilItIsStartedAgain) {
  GonePods gone_pods;
  gone_pods.PodGone("pod-1", Worker(), Time(std::chrono::seconds(5)));
  std::vector<job::SeenProcess> processes;
  gone_pods.AddTo(processes);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_TRUE(processes[0].is_disruption);
  EXPECT_EQ(processes[0].ended_at, Time(std::chrono::seconds(5)));
  gone_pods.AddTo(processes);  // It is there already.
  EXPECT_EQ(processes.size(), 1u);
  EXPECT_TRUE(gone_pods.Take(kWorker.name));
  EXPECT_FALSE(gone_pods.Take(kWorker.name));
  gone_pods.Expect("pod-2");  // Deleted by ourselves.
  gone_pods.PodGone("pod-2", Worker(), Time(std::chrono::seconds(6)));
  EXPECT_FALSE(gone_pods.Take(kWorker.name));
}

}  // namespace
}  // namespace paceline::controller
