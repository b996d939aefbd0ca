// A job with several groups of workers, as the planner sees it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// One parameter server; two big workers, of which one is needed, and two small ones, needed both.
TrainingJob GroupedJob() {
  TrainingJob job;
  job.metadata.name = "digits";
  job.spec.workers.groups = {
      {.name = "big", .replicas = 2, .min_replicas = 1, .max_replicas = 4, .pod_template = {}},
      {.name = "small", .replicas = 2, .min_replicas = 2, .pod_template = {}}};
  ApplyDefaults(job);
  return job;
}

SeenProcess Worker(const std::string& group, int64_t index, double since = 0) {
  SeenProcess process = Running(Role::kWorker, index, since);
  process.name = ProcessName("digits", Role::kWorker, index, group);
  process.group = group;
  return process;
}

Observation Training() {
  Observation seen;
  seen.processes = {Running(Role::kParameterServer, 0), Worker("big", 0), Worker("big", 1),
                    Worker("small", 0), Worker("small", 1)};
  for (SeenProcess& process : seen.processes) process.node = "node-" + process.name;
  seen.status.start_time = At(0);
  seen.status.coordinator_starts = 1;
  seen.coordinator.emplace();
  seen.coordinator->generation_start = 1;
  seen.coordinator->phase = TrainingPhase::kTraining;
  seen.status = PlanJob(GroupedJob(), seen, At(1)).status;
  return seen;
}

TEST(GroupsPlan, EachWorkerIsNamedByGroupAndIndex) {
  const Plan plan = PlanJob(GroupedJob(), {}, At(0));
  EXPECT_THAT(Actions(plan),
              ElementsAre(HasSubstr("start digits-ps-0 "), HasSubstr("start digits-big-0 "),
                          HasSubstr("start digits-big-1 "), HasSubstr("start digits-small-0 "),
                          HasSubstr("start digits-small-1 ")));
  const Start& start = std::get<Start>(plan.actions[4]);
  EXPECT_EQ(start.group, "small");
  EXPECT_EQ(start.index, 1);
  EXPECT_EQ(start.role, Role::kWorker);
}

TEST(GroupsPlan, StatusCountsEachGroup) {
  Observation seen = Training();
  Find(seen, "digits-small-1").state = ProcessState::kPending;
  const JobStatus status = PlanJob(GroupedJob(), seen, At(2)).status;
  EXPECT_EQ(status.replicas, 4);
  EXPECT_EQ(status.ready_workers, "3/4");
  ASSERT_EQ(status.worker_groups.size(), 2u);
  EXPECT_EQ(status.worker_groups[0],
            (GroupStatus{.name = "big", .device = "CPU", .replicas = 2, .active = 2, .ready = 2}));
  EXPECT_EQ(
      status.worker_groups[1],
      (GroupStatus{.name = "small", .device = "CPU", .replicas = 2, .active = 2, .ready = 1}));
  EXPECT_THAT(PlanJob(SmallJob(), AllTraining(), At(2)).status.worker_groups, IsEmpty());
}

TEST(GroupsPlan, ScalingOneGroupTouchesNoOther) {
  TrainingJob job = GroupedJob();
  job.spec.workers.groups[0].replicas = 3;
  const Plan up = PlanJob(job, Training(), At(2));
  EXPECT_THAT(Actions(up), ElementsAre(HasSubstr("start digits-big-2 ")));
  EXPECT_THAT(Events(up),
              Contains("Normal ScaledUp: 5 workers are wanted now; starting digits-big-2"));
  job.spec.workers.groups[0].replicas = 1;
  EXPECT_THAT(Actions(PlanJob(job, Training(), At(2))), ElementsAre("stop digits-big-1 ScaledDown"))
      << "the one of the highest index goes";
  job.spec.workers.groups[0].replicas = 0;
  EXPECT_THAT(Actions(PlanJob(job, Training(), At(2))),
              ElementsAre("stop digits-big-0 ScaledDown", "stop digits-big-1 ScaledDown"));
}

TEST(GroupsPlan, GroupsComeAndGo) {
  TrainingJob job = GroupedJob();
  job.spec.workers.groups[0].name = "new";
  EXPECT_THAT(Actions(PlanJob(job, Training(), At(2))),
              ElementsAre(HasSubstr("start digits-new-0 "), HasSubstr("start digits-new-1 "),
                          "stop digits-big-0 ScaledDown", "stop digits-big-1 ScaledDown"));
}

TEST(GroupsPlan, AStragglerIsReplacedWhereItsGroupCanSpareOne) {
  TrainingJob job = GroupedJob();
  job.spec.workers.straggler_policy.action = StragglerAction::kReplace;
  Observation seen = Training();
  seen.coordinator->stragglers = {{.worker = 1, .slowdown_percent = 900, .group = "small"}};
  const Plan kept = PlanJob(job, seen, At(50));
  EXPECT_THAT(Actions(kept), IsEmpty()) << "small needs both of its workers";
  EXPECT_THAT(Reason(kept, ConditionType::kStraggling), HasSubstr("digits-small-1 on"));
  seen.coordinator->stragglers.push_back({.worker = 1, .slowdown_percent = 300, .group = "big"});
  EXPECT_THAT(Actions(PlanJob(job, seen, At(50))), ElementsAre("stop digits-big-1 Straggler"));
}

TEST(GroupsPlan, OneThatHangsIsStoppedByGroupAndIndex) {
  Observation seen = Training();
  seen.coordinator->hung = {{.worker = 0, .attempt = 0, .seconds = 60, .group = "small"}};
  EXPECT_THAT(Actions(PlanJob(GroupedJob(), seen, At(70))),
              ElementsAre("stop digits-small-0 Hung"));
}

TEST(GroupsPlan, MachinesThatCannotDoTheWorkCountForTheirGroupAlone) {
  TrainingJob job = GroupedJob();
  job.spec.run_policy.backoff_limit = 0;
  const auto unfit = [](const std::string& group, int64_t index) {
    SeenProcess process = Worker(group, index);
    process.state = ProcessState::kExited;
    process.ended_at = At(10);
    process.exit_code = kExitCannotWorkHere;
    process.last_word = "no usable GPU";
    return process;
  };
  Observation seen = Training();
  Put(seen, unfit("big", 1));  // One of them is enough.
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(10))), "Degraded");
  Put(seen, unfit("small", 1));
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(10))),
            "Failed CannotWorkHere: digits-small-1: no usable GPU; the machines of 1 of 2 workers "
            "of group small cannot do the work, after more starts than backoffLimit, 0, and "
            "minReplicas asks for 2");
}

TEST(GroupsPlan, AJobGivesWayWhereAGroupLacksWhatItNeeds) {
  TrainingJob job = GroupedJob();
  const auto waiting = [](SeenProcess process) {
    process.state = ProcessState::kPending;
    process.is_unschedulable = true;
    return process;
  };
  Observation seen;
  seen.processes = {Running(Role::kParameterServer, 0), Worker("big", 0), Worker("big", 1),
                    Worker("small", 0), waiting(Worker("small", 1))};
  const double patience = 5 * 60;
  EXPECT_THAT(Events(PlanJob(job, seen, At(patience))), Contains(HasSubstr("GaveWay")))
      << "three of the four run, and small needs both";
  seen.processes = {Running(Role::kParameterServer, 0), Worker("big", 0), waiting(Worker("big", 1)),
                    Worker("small", 0), Worker("small", 1)};
  EXPECT_THAT(Events(PlanJob(job, seen, At(patience))), Not(Contains(HasSubstr("GaveWay"))));
}

}  // namespace
}  // namespace paceline::job
