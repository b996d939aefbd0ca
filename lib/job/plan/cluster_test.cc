// What a plan makes of what only a cluster shows: lost machines, deletions by others, room.
#include <algorithm>

#include <fmt/format.h>
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

PlanOptions Recovering() {
  PlanOptions options;
  options.can_recover_shards = true;
  return options;
}

TEST(Created, SaysThatATraceHasNoPlace) {
  TrainingJob job = SmallJob();
  job.spec.observability.trace.max_bytes = 1 << 20;
  EXPECT_EQ(Reason(PlanJob(job, {}, At(5)), ConditionType::kCreated),
            "True JobSeen spec.observability.trace: no trace is written, for it would lie in "
            "spec.output.volume, and there is none");
  job.spec.output.volume.emplace().persistent_volume_claim = Claim{.claim_name = "out"};
  EXPECT_EQ(Reason(PlanJob(job, {}, At(5)), ConditionType::kCreated), "True JobSeen ");
}

TEST(Created, SaysWhatTravelsOpenWithoutMtls) {
  TrainingJob job = SmallJob();
  EXPECT_EQ(Reason(PlanJob(job, {}, At(5)), ConditionType::kCreated), "True JobSeen ");
  job.spec.security.mtls = Toggle::kDisabled;
  EXPECT_THAT(
      Reason(PlanJob(job, {}, At(5)), ConditionType::kCreated),
      HasSubstr("True JobSeen security.mtls is Disabled: between pods pushes, pulls and the "
                "token that opens"));
}

TEST(PlanJob, SaysOnceWhatWasMadeOfCheckpointsThatWereThere) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->checkpoint_note = "begins anew: they are of another job";
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_EQ(plan.status.checkpoint_note, "begins anew: they are of another job");
  EXPECT_THAT(Events(plan),
              ElementsAre("Normal CheckpointsFound: begins anew: they are of another job"));
  seen.status = plan.status;
  EXPECT_THAT(Events(PlanJob(job, seen, At(6))), IsEmpty());
}

TEST(JudgeLostNodes, ForcesWhatHangsOnADeadMachineAndStartsItElsewhere) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  Find(seen, "digits-worker-1").node_lost_since = At(100);
  const Plan early = PlanJob(job, seen, At(129));
  EXPECT_THAT(Actions(early), IsEmpty());
  EXPECT_EQ(early.requeue_at, At(130));
  EXPECT_THAT(Reason(early, ConditionType::kDegraded),
              HasSubstr("digits-worker-1 on node-1, which does not answer"));
  const Plan late = PlanJob(job, seen, At(130));
  EXPECT_THAT(Actions(late), ElementsAre("stop digits-worker-1 NodeLost now"));
  EXPECT_THAT(Events(late), Contains("Warning NodeLost: digits-worker-1 on node-1 has not answered "
                                     "for nodeLostSeconds, 30; it is given up"));
  seen.status = late.status;
  Remove(seen, "digits-worker-1");
  EXPECT_THAT(Actions(PlanJob(job, seen, At(131))),
              ElementsAre("start digits-worker-1 generation=1 attempt=1 failures=0"));
}

TEST(JudgeLostNodes, ForcesWhatShouldHaveBeenGoneWhateverTheVerdict) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.suspend = true;
  Observation seen = SettledTraining(job);
  SeenProcess& stuck = Find(seen, "digits-worker-1");
  stuck.is_stopping = true;
  stuck.gone_by = At(40);
  EXPECT_THAT(Actions(PlanJob(job, seen, At(69))),
              ::testing::Not(Contains(HasSubstr("digits-worker-1"))));
  EXPECT_THAT(Actions(PlanJob(job, seen, At(70))), Contains("stop digits-worker-1 NodeLost now"));
}

TEST(JudgeLostNodes, AsksNobodyTwiceInOnePlan) {
  TrainingJob job = SmallJob();
  job.spec.workers.replicas = 2;
  Observation seen = SettledTraining(SmallJob());
  Find(seen, "digits-worker-2").node_lost_since = At(0);
  EXPECT_THAT(Actions(PlanJob(job, seen, At(100))),
              ElementsAre("stop digits-worker-2 NodeLost now"));
}

TEST(JudgeScale, CountsWhatVanishedAsARestartAndWhatIsNewNot) {
  TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.status.restarts = 3;
  Find(seen, "digits-worker-0").attempt = 1;
  Remove(seen, "digits-worker-1");
  const Plan lost = PlanJob(job, seen, At(5));
  EXPECT_THAT(Actions(lost),
              ElementsAre("start digits-worker-1 generation=1 attempt=3 failures=0"));
  EXPECT_THAT(Events(lost), Contains("Warning ProcessGone: digits-worker-1 is gone; it is started "
                                     "again"));
  EXPECT_EQ(Reason(lost, ConditionType::kRestarting), "True ProcessDisrupted digits-worker-1");
  SeenProcess again = Running(Role::kWorker, 1, 6);
  again.attempt = 3;
  Put(seen, again);
  seen.status = lost.status;
  EXPECT_EQ(PlanJob(job, seen, At(7)).status.restarts, 4);
  job.spec.workers.replicas = 4;
  seen.status = PlanJob(SmallJob(), seen, At(7)).status;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(8))),
              ElementsAre("start digits-worker-3 generation=1 attempt=0 failures=0"));
}

TEST(JudgeRestart, WhatTheClusterRefusesIsCountedAndToldOnce) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  Put(seen, Exited(Role::kParameterServer, 0, 2, 137));
  Put(seen, Exited(Role::kWorker, 1, 2, 1));
  const Plan first = PlanJob(job, seen, At(20), Recovering());
  EXPECT_THAT(Actions(first), Contains(HasSubstr("start digits-ps-0 generation=2")));
  EXPECT_THAT(Events(first), Contains(HasSubstr("digits-worker-1")));
  seen.status = first.status;
  seen.refused = {"digits-ps-0", "digits-worker-1"};
  const Plan second = PlanJob(job, seen, At(21), Recovering());
  EXPECT_EQ(Actions(second), Actions(first));
  EXPECT_THAT(Events(second), IsEmpty());
  EXPECT_EQ(second.status.coordinator_starts, 2);
  EXPECT_EQ(second.status.restarts, first.status.restarts);
  EXPECT_EQ(second.status.conditions, first.status.conditions);
}

TEST(JudgeScale, SaysWhatALostServerCosts) {
  TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  Remove(seen, "digits-ps-0");
  EXPECT_THAT(Events(PlanJob(job, seen, At(5), Recovering())),
              Contains(HasSubstr("digits-ps-0 is gone and started again; without checkpoints "
                                 "training starts over")));
  job.spec.checkpoint.emplace();
  seen.status.checkpoint = CheckpointStatus{.version = 42, .completion_time = At(3)};
  const Plan plan = PlanJob(job, seen, At(5), Recovering());
  EXPECT_THAT(Actions(plan), ElementsAre("start digits-ps-0 generation=2 attempt=1 failures=0"));
  EXPECT_THAT(Events(plan), Contains("Warning Recovering: digits-ps-0 is gone and started again; "
                                     "training goes back to the checkpoint of version 42"));
}

TEST(Restarting, LastsUntilTrainingGoesOnAgain) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  SeenProcess dead = Exited(Role::kParameterServer, 1, 10, 0);
  dead.is_disruption = true;
  dead.node = "node-1";
  Put(seen, dead);
  const Plan lost = PlanJob(job, seen, At(10), Recovering());
  EXPECT_EQ(lost.status.state, "Restarting");
  EXPECT_EQ(Reason(lost, ConditionType::kRestarting),
            "True Recovering digits-ps-1 on node-1 was disrupted");
  EXPECT_EQ(Reason(lost, ConditionType::kRunning), "False Starting ");
  // It is back, and the coordinator is busy with bringing the shards to one version.
  seen.status = lost.status;
  Put(seen, Running(Role::kParameterServer, 1, 11));
  seen.coordinator->phase = TrainingPhase::kStartup;
  const Plan back = PlanJob(job, seen, At(12), Recovering());
  EXPECT_EQ(Reason(back, ConditionType::kRestarting),
            "True Recovering digits-ps-1 on node-1 was disrupted");
  EXPECT_EQ(back.status.state, "Restarting");
  seen.status = back.status;
  seen.coordinator->phase = TrainingPhase::kTraining;
  const Plan trains = PlanJob(job, seen, At(14), Recovering());
  EXPECT_EQ(Reason(trains, ConditionType::kRestarting), "False NotYet ");
  EXPECT_EQ(trains.status.state, "Running");
  EXPECT_THAT(Events(trains), ElementsAre("Normal Recovered: the parameter servers are back, "
                                          "training goes on"));
}

TEST(Restarting, TellsWhoWasKilledForMemoryAndWhere) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  SeenProcess dead = Exited(Role::kWorker, 1, 10, 0, 9);
  dead.is_out_of_memory = true;
  dead.node = "node-4";
  Put(seen, dead);
  const Plan plan = PlanJob(job, seen, At(10));
  EXPECT_EQ(Reason(plan, ConditionType::kRestarting),
            "True OutOfMemory digits-worker-1 on node-4 was killed because it used more memory "
            "than its limit (failure 1, backoffLimit allows 6)");
  EXPECT_EQ(plan.status.failures, 1);
  EXPECT_THAT(Events(PlanJob(job, seen, At(20))), Contains(HasSubstr("Warning OutOfMemory")));
}

TEST(JudgeSuspend, StopsShardsAfterTheCoordinatorThatWritesACheckpoint) {
  TrainingJob job = SmallJob();
  job.spec.checkpoint.emplace();
  job.spec.run_policy.suspend = true;
  Observation seen = SettledTraining(job);
  const Plan first = PlanJob(job, seen, At(5));
  EXPECT_EQ(first.actions.size(), 5u);
  EXPECT_THAT(Actions(first), Contains("stop digits-ps-0 Suspended"));
  EXPECT_THAT(Actions(first), ::testing::Not(Contains("stop digits-ps-1 Suspended")));
  Remove(seen, "digits-ps-0");
  EXPECT_THAT(Actions(PlanJob(job, seen, At(6))), Contains("stop digits-ps-1 Suspended"));
}

TEST(JudgeSuspend, SaysFalseAndResumedAfterwards) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.suspend = true;
  Observation seen;
  seen.status = PlanJob(job, seen, At(5)).status;
  EXPECT_EQ(seen.status.state, "Suspended");
  job.spec.run_policy.suspend = false;
  const Plan resumed = PlanJob(job, seen, At(6));
  EXPECT_EQ(Reason(resumed, ConditionType::kSuspended), "False Resumed ");
  EXPECT_EQ(resumed.status.state, "Starting");
  EXPECT_EQ(resumed.status.restarts, 0);
  seen.status = resumed.status;
  EXPECT_EQ(Reason(PlanJob(job, seen, At(7)), ConditionType::kSuspended), "False Resumed ");
}

TEST(JudgeSuspend, DoesNotSuspendWhatIsDone) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.suspend = true;
  Observation seen = SettledTraining(SmallJob());
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  EXPECT_EQ(PlanJob(job, seen, At(5)).status.state, "Succeeded");
}

TEST(Status, RoundsNumbersAndSaysTheRestForPeople) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->progress = Progress{
      .step = 42, .epoch = 1.23456789, .percent = 0, .eta_seconds = 3905.4, .loss = 0.0123456789};
  Find(seen, "digits-worker-1").is_ready = false;
  WorkerStatus worker;
  worker.name = "digits-worker-2";
  seen.coordinator->workers = {worker};
  const JobStatus status = PlanJob(job, seen, At(5)).status;
  EXPECT_EQ(status.progress->epoch, 1.23457);
  EXPECT_EQ(status.progress->loss, 0.0123457);
  EXPECT_EQ(status.progress->eta, "1h05m");
  EXPECT_EQ(status.ready_workers, "2/3");
  EXPECT_EQ(status.workers[0].pod, "digits-worker-2");
  EXPECT_EQ(status.workers[0].node, "node-2");
}

TEST(Status, KeepsWhatPodsCameToWhenTheyAreGone) {
  TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  for (int64_t i = 0; i < 3; ++i) Put(seen, Exited(Role::kWorker, i, 9, 0));
  seen.status = PlanJob(job, seen, At(10)).status;
  EXPECT_EQ(seen.status.replica_statuses.worker, (ReplicaStatus{0, 0, 3, 0}));
  seen.processes.clear();
  seen.coordinator.reset();
  const Plan after = PlanJob(job, seen, At(20));
  EXPECT_EQ(after.status.replica_statuses.worker, (ReplicaStatus{0, 0, 3, 0}));
  EXPECT_THAT(Actions(after), IsEmpty());
  seen.status = after.status;
  EXPECT_TRUE(PlanJob(job, seen, At(9000)).status == after.status);  // At rest nothing changes.
}

TEST(IsOurs, GoesByManagedBy) {
  TrainingJob job = SmallJob();
  EXPECT_TRUE(IsOurs(job));
  job.spec.run_policy.managed_by = "kueue.x-k8s.io/multikueue";
  EXPECT_FALSE(IsOurs(job));
}

TEST(DegradedTest, ACoordinatorThatCannotBeAskedIsToldOfOnce) {
  const TrainingJob job = SmallJob();
  Observation seen = AllTraining();
  seen.silence = {At(10), "coordinator at https://10.0.0.7:7600 does not answer: timed out"};
  for (const bool was_asked : {true, false}) {
    if (!was_asked) seen.coordinator.reset();
    EXPECT_FALSE(Holds(PlanJob(job, seen, At(29)).status, ConditionType::kDegraded));
    const Plan late = PlanJob(job, seen, At(30));
    EXPECT_EQ(Reason(late, ConditionType::kDegraded),
              "True CoordinatorUnreachable let the operator reach the job's coordinator, which a "
              "NetworkPolicy, a mesh or a firewall may forbid: since 1970-01-01T00:00:10Z "
              "coordinator at https://10.0.0.7:7600 does not answer: timed out");
    EXPECT_THAT(Events(late), Contains(HasSubstr("CoordinatorUnreachable")));
    Observation next = seen;
    next.status = late.status;
    EXPECT_THAT(Events(PlanJob(job, next, At(40))),
                Not(Contains(HasSubstr("CoordinatorUnreachable"))));
  }
}

TEST(DegradedTest, ScalingUpMakesNothingWorse) {
  TrainingJob job = SmallJob();
  job.spec.workers.replicas = 4;
  job.spec.workers.max_replicas = 4;
  Observation seen = AllTraining();
  EXPECT_FALSE(Holds(PlanJob(job, seen, At(10)).status, ConditionType::kDegraded));
  SeenProcess joiner = Running(Role::kWorker, 3, 10);
  joiner.state = ProcessState::kPending;
  seen.processes.push_back(joiner);
  EXPECT_FALSE(Holds(PlanJob(job, seen, At(20)).status, ConditionType::kDegraded));
  EXPECT_TRUE(Holds(PlanJob(job, seen, At(200)).status, ConditionType::kDegraded));  // Too late.
}

// --- What the loss of a parameter server would cost is said before there is one.

TEST(Recoverable, SaysFromTheFirstPlanOnWhatALossWouldCost) {
  TrainingJob job = SmallJob();
  const auto judge = [&](PlanOptions options = {}) { return PlanJob(job, {}, At(0), options); };
  const std::string everything =
      "False NoCheckpoints a lost parameter server costs everything since the start: ";
  EXPECT_EQ(Reason(judge(), ConditionType::kRecoverable),
            everything +
                "the job has no volume that outlives its pods; give it spec.output.volume "
                "or spec.checkpoint");
  EXPECT_THAT(Events(judge()), Contains(HasSubstr("Warning NoCheckpoints: a lost parameter")));
  EXPECT_THAT(Reason(judge({.has_place_for_checkpoints = true}), ConditionType::kRecoverable),
              HasSubstr("True Checkpointed"));
  job.spec.output.volume.emplace().host_path.emplace().path = "/models";
  EXPECT_THAT(Reason(judge(), ConditionType::kRecoverable),
              HasSubstr(everything + "the shards do not share spec.output.volume"));
  job.spec.output.volume.emplace().others["nfs"];
  EXPECT_THAT(Reason(judge(), ConditionType::kRecoverable), HasSubstr("True Checkpointed"));
  job.spec.output.volume.emplace().persistent_volume_claim.emplace().claim_name = "out";
  EXPECT_THAT(Reason(judge(), ConditionType::kRecoverable),
              HasSubstr(everything + "the claim out of spec.output.volume, which decides it, is "
                                     "not there yet"));
  job.spec.parameter_server.shards = 1;
  EXPECT_THAT(Reason(judge(), ConditionType::kRecoverable), HasSubstr("True Checkpointed"));
  EXPECT_THAT(Events(judge()), Not(Contains(HasSubstr("NoCheckpoints"))));
  job.spec.output.volume.emplace().empty_dir.emplace();
  EXPECT_THAT(Reason(judge(), ConditionType::kRecoverable), HasSubstr("outlives its pods"));
  job.spec.checkpoint.emplace().enabled = false;
  EXPECT_EQ(Reason(judge({.has_place_for_checkpoints = true}), ConditionType::kRecoverable),
            everything + "spec.checkpoint.enabled is false");
  job.spec.checkpoint->enabled = true;
  EXPECT_THAT(Reason(judge(), ConditionType::kRecoverable), HasSubstr("True Checkpointed"));
}

// The claim decides, and what is started goes by it.
TEST(Recoverable, SeveralShardsHaveCheckpointsWhereAllCanMountTheOutputsClaim) {
  TrainingJob job = SmallJob();
  job.spec.output.volume.emplace().persistent_volume_claim.emplace().claim_name = "out";
  Observation seen;
  const auto are_shared = [](const Plan& plan) {
    std::set<bool> shared;
    for (const Action& action : plan.actions) shared.insert(std::get<Start>(action).shares_output);
    return shared;
  };
  seen.output_claim = {.is_shared = false, .modes = "ReadWriteOnce"};
  Plan plan = PlanJob(job, seen, At(0));
  EXPECT_THAT(Reason(plan, ConditionType::kRecoverable),
              HasSubstr("the shards cannot share the claim out of spec.output.volume, whose "
                        "access mode is ReadWriteOnce; let it be ReadWriteMany, or give "
                        "spec.checkpoint a volumeClaimTemplate, or a volume that all can mount"));
  EXPECT_THAT(are_shared(plan), ElementsAre(false));
  seen.output_claim = {.is_shared = true, .modes = "ReadWriteMany"};
  plan = PlanJob(job, seen, At(0));
  EXPECT_THAT(Reason(plan, ConditionType::kRecoverable), HasSubstr("True Checkpointed"));
  EXPECT_THAT(are_shared(plan), ElementsAre(true));
  job.spec.checkpoint.emplace().enabled = false;
  EXPECT_THAT(Reason(PlanJob(job, seen, At(0)), ConditionType::kRecoverable),
              HasSubstr("spec.checkpoint.enabled is false"));
}

TEST(Recoverable, IsToldOnce) {
  const TrainingJob job = SmallJob();
  Observation seen;
  seen.status = PlanJob(job, seen, At(0)).status;
  EXPECT_THAT(Events(PlanJob(job, seen, At(1))), Not(Contains(HasSubstr("NoCheckpoints"))));
}

}  // namespace
}  // namespace paceline::job
