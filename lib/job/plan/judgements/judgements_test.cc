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
using ::testing::SizeIs;

TEST(JudgeScale, StartsEverythingAtOnceServersFirst) {
  const Plan plan = PlanJob(SmallJob(), Observation(), At(5));
  EXPECT_THAT(Actions(plan),
              ElementsAre("start digits-ps-0 generation=1 attempt=0 failures=0",
                          "start digits-ps-1 generation=1 attempt=0 failures=0",
                          "start digits-worker-0 generation=1 attempt=0 failures=0",
                          "start digits-worker-1 generation=1 attempt=0 failures=0",
                          "start digits-worker-2 generation=1 attempt=0 failures=0",
                          "start digits-evaluator generation=1 attempt=0 failures=0"));
  EXPECT_EQ(plan.status.coordinator_starts, 1);
  EXPECT_EQ(plan.status.start_time, At(5));
  EXPECT_EQ(plan.status.state, "Starting");
  EXPECT_EQ(plan.status.conditions.size(), 10u);
  EXPECT_EQ(Reason(plan, ConditionType::kResourcesReady),
            "False ProcessesMissing not running: digits-ps-0, digits-ps-1, digits-worker-0, "
            "digits-worker-1, "
            "digits-worker-2 and 1 more");
}

TEST(JudgeScale, PlansTenThousandWorkersInOneGo) {
  TrainingJob job = SmallJob();
  job.spec.workers.replicas = 10000;
  job.spec.workers.max_replicas = 10000;
  const Plan plan = PlanJob(job, Observation(), At(5));
  EXPECT_EQ(plan.actions.size(), 10003u);
  EXPECT_EQ(Reason(plan, ConditionType::kResourcesReady),
            "False ProcessesMissing not running: digits-ps-0, digits-ps-1, digits-worker-0, "
            "digits-worker-1, digits-worker-2 and 9998 more");
}

TEST(JudgeScale, StartsNoEvaluatorThatNobodyWants) {
  TrainingJob job = SmallJob();
  job.spec.data.eval.reset();
  job.spec.evaluator.reset();
  EXPECT_EQ(PlanJob(job, Observation(), At(0)).actions.size(), 5u);
}

TEST(JudgeScale, LeavesAllAsItIsWhenAllRuns) {
  const Plan plan = PlanJob(SmallJob(), AllTraining(), At(5));
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_EQ(plan.status.state, "Running");
  EXPECT_EQ(plan.status.replica_statuses.worker, (ReplicaStatus{3, 3, 0, 0}));
  EXPECT_EQ(Reason(plan, ConditionType::kRunning), "True Training ");
  EXPECT_EQ(Reason(plan, ConditionType::kResourcesReady), "True AllRunning ");
  EXPECT_THAT(Events(plan), ElementsAre("Normal AllRunning: all 6 processes run",
                                        "Normal Training: training goes on",
                                        HasSubstr("Warning NoCheckpoints: ")));
  Observation again = AllTraining();
  again.status = plan.status;
  const Plan second = PlanJob(SmallJob(), again, At(9));
  EXPECT_THAT(Events(second), IsEmpty());
  EXPECT_TRUE(second.status == plan.status);  // Times of transitions too: a level is no transition.
}

TEST(JudgeScale, FollowsReplicasUpAndDown) {
  TrainingJob job = SmallJob();
  job.spec.workers.replicas = 4;
  EXPECT_THAT(Actions(PlanJob(job, AllTraining(), At(5))),
              ElementsAre("start digits-worker-3 generation=1 attempt=0 failures=0"));
  job.spec.workers.replicas = 2;
  Observation seen = AllTraining();
  EXPECT_THAT(Actions(PlanJob(job, seen, At(5))), ElementsAre("stop digits-worker-2 ScaledDown"));
  Find(seen, "digits-worker-2").is_stopping = true;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(5))), IsEmpty());
}

TEST(JudgeScale, WaitsUntilAStoppingProcessIsGone) {
  Observation seen = AllTraining();
  Find(seen, "digits-worker-1").is_stopping = true;
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(5))), IsEmpty());
  Remove(seen, "digits-worker-1");
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(5))),
              ElementsAre("start digits-worker-1 generation=1 attempt=0 failures=0"));
}

TEST(JudgeRestart, WaitsForTheBackoffWhichDoublesUpToItsMost) {
  const struct {
    int64_t failures;
    double backoff_seconds;
  } cases[] = {{0, 1}, {1, 2}, {2, 4}, {5, 32}, {8, 256}, {9, 300}, {40, 300}};
  TrainingJob job = SmallJob();
  job.spec.run_policy.backoff_limit = 100;
  for (const auto& c : cases) {
    Observation seen = AllTraining();
    SeenProcess dead = Exited(Role::kWorker, 1, 100, 1);
    dead.failures = c.failures;
    dead.attempt = c.failures;
    Put(seen, dead);
    const Plan early = PlanJob(job, seen, At(100 + c.backoff_seconds - 0.001));
    EXPECT_THAT(Actions(early), IsEmpty());
    EXPECT_EQ(early.requeue_at, At(100 + c.backoff_seconds));
    EXPECT_EQ(early.status.state, "Degraded");
    EXPECT_EQ(Reason(early, ConditionType::kRestarting),
              fmt::format("True ProcessFailed digits-worker-1 exited with code 1 (failure {}, "
                          "backoffLimit allows 100)",
                          c.failures + 1));
    const Plan ready = PlanJob(job, seen, At(100 + c.backoff_seconds));
    EXPECT_THAT(Actions(ready),
                ElementsAre(fmt::format("start digits-worker-1 generation=1 attempt={} failures={}",
                                        c.failures + 1, c.failures + 1)));
    EXPECT_THAT(
        Events(ready),
        Contains("Warning ProcessFailed: digits-worker-1 exited with code 1; it is started again"));
  }
}

TEST(JudgeRestart, CountsADisruptionForItsBackoffAlone) {
  Observation seen = AllTraining();
  SeenProcess dead = Exited(Role::kWorker, 1, 100, 137);
  dead.is_disruption = true;
  Put(seen, dead);
  TrainingJob job = SmallJob();
  job.spec.run_policy.backoff_limit = 0;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(101))),
              ElementsAre("start digits-worker-1 generation=1 attempt=1 failures=0 disruptions=1"));
  dead.disruptions = 3;
  Put(seen, dead);
  const Plan waiting = PlanJob(job, seen, At(107));
  EXPECT_THAT(Actions(waiting), IsEmpty());
  EXPECT_EQ(waiting.requeue_at, At(108));
  EXPECT_THAT(Actions(PlanJob(job, seen, At(108))),
              ElementsAre("start digits-worker-1 generation=1 attempt=1 failures=0 disruptions=4"));
}

TEST(JudgeRestart, ForgivesAfterRunningLong) {
  Observation seen = AllTraining();
  SeenProcess dead = Exited(Role::kWorker, 1, 600, 1);
  dead.failures = 5;
  dead.attempt = 5;
  Put(seen, dead);
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(601))),
              ElementsAre("start digits-worker-1 generation=1 attempt=6 failures=1"));
}

TEST(JudgeRestart, BringsAWorkerThatEndedWellBackOnlyWhileTheCoordinatorGoesOn) {
  Observation seen = AllTraining();
  Put(seen, Exited(Role::kWorker, 1, 100, 0));
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(101))),
              ElementsAre("start digits-worker-1 generation=1 attempt=1 failures=1"));
  seen.coordinator.reset();
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(101))), IsEmpty());
}

TEST(JudgeDegraded, WaitsForTheWordThatTrainingIsOverBeforeItMissesWhoEndedWell) {
  Observation seen = AllTraining();
  Put(seen, Exited(Role::kWorker, 1, 100, 0));
  EXPECT_EQ(PlanJob(SmallJob(), seen, At(100.5)).status.state, "Running");
  EXPECT_EQ(PlanJob(SmallJob(), seen, At(101)).status.state, "Degraded");
}

TEST(JudgeRestart, RestartsALostParameterServerWhereThatIsPossible) {
  Observation seen = AllTraining();
  Put(seen, Exited(Role::kParameterServer, 0, 100, 0, 9));
  PlanOptions options;
  options.can_recover_shards = true;
  const Plan plan = PlanJob(SmallJob(), seen, At(101), options);
  EXPECT_THAT(Actions(plan), ElementsAre("start digits-ps-0 generation=2 attempt=1 failures=1"));
  EXPECT_EQ(plan.status.coordinator_starts, 2);
}

// Names of modules and programs do not mend themselves; what a machine lacks may be elsewhere.
TEST(JudgeFailure, AScriptThatCannotBeReadIsStartedTwice) {
  struct Case {
    int exit_code;
    const char* word;
    bool is_hopeless;
  };
  const Case cases[] = {
      {1, "ModuleNotFoundError: No module named 'tochvision'", true},
      {1, "Traceback (most recent call last):\n  File \"a.py\", line 1\nNameError: name 'tr' ...",
       true},
      {1, "SyntaxError: invalid syntax", true},
      {127, "sh: 1: pyton: not found", true},
      {126, "", true},
      {1, "ImportError: libcuda.so.1: cannot open shared object file", false},
      {1, "ConnectionError: no route to host: ImportError:", false},
      {1, "", false}};
  for (const Case& one : cases) {
    Observation seen = AllTraining();
    SeenProcess ended = Exited(Role::kWorker, 1, 100, one.exit_code);
    ended.last_word = one.word;
    Put(seen, ended);
    EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(101))), SizeIs(1)) << one.word;
    ended.failures = 1;
    Put(seen, ended);
    const Plan plan = PlanJob(SmallJob(), seen, At(200));
    EXPECT_EQ(Outcome(plan).starts_with("Failed CannotWork: digits-worker-1"), one.is_hopeless)
        << one.word << ": " << Outcome(plan);
    // It trained before: a sample may ask for what the rest does without.
    seen.coordinator->workers = {{.name = "digits-worker-1", .device = "CPU"}};
    EXPECT_FALSE(Outcome(PlanJob(SmallJob(), seen, At(200))).starts_with("Failed")) << one.word;
  }
}

TEST(JudgeFailure, TellsWhatFailedTheJob) {
  const auto exited = [](Role role, int exit_code, int signal) {
    return Exited(role, 1, 100, exit_code, signal);
  };
  SeenProcess often = exited(Role::kWorker, 1, 0);
  often.failures = 6;
  SeenProcess limited = exited(Role::kWorker, 0, 9);
  limited.failures = 6;
  limited.memory_limit = "40Mi";
  SeenProcess evicted = exited(Role::kParameterServer, 0, 0);
  evicted.is_disruption = true;
  SeenProcess speaking = exited(Role::kWorker, 2, 0);
  speaking.last_word = "cannot open train.safetensors";
  const struct {
    SeenProcess process;
    const char* outcome;
  } cases[] = {
      {often,
       "Failed BackoffLimitExceeded: digits-worker-1 exited with code 1: failure 7, backoffLimit "
       "allows 6"},
      {limited,
       "Failed BackoffLimitExceeded: digits-worker-1 was killed by signal 9, as happens beyond its "
       "memory limit of 40Mi: failure 7, backoffLimit allows 6"},
      {exited(Role::kWorker, 2, 0),
       "Failed CannotWork: digits-worker-1 exited with code 2; starting it again is of no use, and "
       "its log may say why"},
      {speaking,
       "Failed CannotWork: digits-worker-1: cannot open train.safetensors; starting it again is of "
       "no use"},
      {exited(Role::kParameterServer, 0, 9),
       "Failed ParameterServerLost: digits-ps-1 was killed by signal 9, and this version cannot "
       "bring a parameter server back"},
      {exited(Role::kParameterServer, 1, 0),
       "Failed ParameterServerLost: digits-ps-1 exited with code 1, and this version cannot bring "
       "a parameter server back"},
      {evicted,
       "Failed ParameterServerLost: digits-ps-1 was disrupted, and this version cannot bring a "
       "parameter server back"},
      {exited(Role::kWorker, 0, 9), "Degraded"},
      {exited(Role::kParameterServer, 0, 0), "Running"},  // The coordinator is there to judge that.
  };
  for (const auto& c : cases) {
    Observation seen = AllTraining();
    Put(seen, c.process);
    EXPECT_EQ(Outcome(PlanJob(SmallJob(), seen, At(100.5))), c.outcome);
  }
}

TEST(JudgeFailure, SumsFailuresOverProcesses) {
  Observation seen = AllTraining();
  Find(seen, "digits-worker-0").failures = 3;
  Find(seen, "digits-worker-2").failures = 3;
  Put(seen, Exited(Role::kWorker, 1, 100, 1));
  const Plan plan = PlanJob(SmallJob(), seen, At(100));
  EXPECT_THAT(Outcome(plan), HasSubstr("failure 7, backoffLimit allows 6"));
  EXPECT_EQ(plan.status.failures, 7);
}

TEST(JudgeFailure, TreatsAVanishedParameterServerAsLostOnceTrainingWentOn) {
  Observation seen = AllTraining();
  seen.status = PlanJob(SmallJob(), seen, At(1)).status;
  Remove(seen, "digits-ps-1");
  EXPECT_THAT(Outcome(PlanJob(SmallJob(), seen, At(2))),
              HasSubstr("ParameterServerLost: digits-ps-1 is gone"));
  seen.status.conditions.clear();
  EXPECT_THAT(Actions(PlanJob(SmallJob(), seen, At(2))),
              ElementsAre("start digits-ps-1 generation=1 attempt=1 failures=0"));
}

TEST(JudgeFailure, BelievesTheCoordinatorOfThePresentLifeOnly) {
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kFailed;
  seen.coordinator->message = "loss is not finite after 3 roll-backs";
  EXPECT_EQ(Outcome(PlanJob(SmallJob(), seen, At(5))),
            "Failed TrainingFailed: loss is not finite after 3 roll-backs");
  seen.coordinator->generation_start = 7;
  EXPECT_EQ(Outcome(PlanJob(SmallJob(), seen, At(5))), "Starting");
}

TEST(JudgeDeadline, CountsFromTheStartAndLooksAgainInTime) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.active_deadline_seconds = 60;
  Observation seen = AllTraining();
  seen.status.start_time = At(10);
  const Plan early = PlanJob(job, seen, At(69));
  EXPECT_EQ(early.requeue_at, At(70));
  EXPECT_EQ(Outcome(early), "Running");
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(70))),
            "Failed DeadlineExceeded: not done within activeDeadlineSeconds, 60");
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  EXPECT_THAT(Outcome(PlanJob(job, seen, At(70))), HasSubstr("Succeeded"));
}

TEST(JudgeSuccess, TakesTheCoordinatorsWordOrItsExit) {
  Observation by_word = AllTraining();
  by_word.coordinator->phase = TrainingPhase::kSucceeded;
  Observation by_exit = AllTraining();
  by_exit.coordinator.reset();
  Put(by_exit, Exited(Role::kParameterServer, 0, 9, 0));
  // Whoever fell over at the end does not matter any more.
  Put(by_exit, Exited(Role::kParameterServer, 1, 9, 1));
  Put(by_exit, Exited(Role::kWorker, 1, 9, 2));
  for (const Observation& seen : {by_word, by_exit}) {
    const Plan plan = PlanJob(SmallJob(), seen, At(10));
    EXPECT_EQ(Outcome(plan), "Succeeded TrainingSucceeded: the model is trained and saved");
    EXPECT_EQ(plan.status.completion_time, At(10));
    EXPECT_THAT(Actions(plan), Contains("stop digits-worker-0 JobFinished"));
  }
}

TEST(JudgeSuspend, StopsAllAndStartsAnewLater) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.suspend = true;
  Observation seen = AllTraining();
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_EQ(plan.actions.size(), 6u);
  EXPECT_EQ(plan.status.state, "Suspended");
  EXPECT_FALSE(plan.status.start_time.has_value());
  EXPECT_THAT(Events(plan), ElementsAre("Normal Suspended: all processes are stopped; without "
                                        "checkpoints the progress is lost",
                                        HasSubstr("Warning NoCheckpoints: ")));

  for (SeenProcess& process : seen.processes) process.is_stopping = true;
  seen.status = plan.status;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(6))), IsEmpty());

  job.spec.run_policy.suspend = false;
  seen.processes.clear();
  const Plan resumed = PlanJob(job, seen, At(100));
  EXPECT_EQ(resumed.actions.size(), 6u);
  EXPECT_EQ(resumed.status.start_time, At(100));
  EXPECT_EQ(resumed.status.coordinator_starts, 2);
  EXPECT_THAT(Events(resumed), ElementsAre("Normal Resumed: the job goes on"));
}

TEST(JudgeStragglers, ReplacesTheSlowestWhereAsked) {
  TrainingJob job = SmallJob();
  Observation seen = AllTraining();
  seen.coordinator->stragglers = {{1, 250}, {2, 400}};
  const Plan report = PlanJob(job, seen, At(5));
  EXPECT_THAT(Actions(report), IsEmpty());
  EXPECT_EQ(Reason(report, ConditionType::kStraggling),
            "True Straggler digits-worker-1 takes 2.5 times the median worker's time, "
            "digits-worker-2 takes 4.0 times the median worker's time");
  job.spec.workers.straggler_policy.action = StragglerAction::kReplace;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(5))), ElementsAre("stop digits-worker-2 Straggler"));
  Find(seen, "digits-worker-0").state = ProcessState::kPending;  // One short already.
  EXPECT_THAT(Actions(PlanJob(job, seen, At(5))), IsEmpty());
  Find(seen, "digits-worker-0").state = ProcessState::kRunning;
  job.spec.workers.min_replicas = 3;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(5))), IsEmpty());
}

// Where there is one machine only: once, and again when it has run for long.
TEST(JudgeStragglers, StartsAgainWhereThereIsNoOtherMachine) {
  TrainingJob job = SmallJob();
  job.spec.workers.straggler_policy.action = StragglerAction::kReplace;
  Observation seen = AllTraining();
  seen.coordinator->stragglers = {{2, 400}};
  const Plan plan = PlanJob(job, seen, At(5));
  EXPECT_THAT(
      Events(plan),
      Contains("Warning Straggler: digits-worker-2 takes 4.0 times the median worker's time "
               "and is started again"));
  Find(seen, "digits-worker-2").attempt = 1;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(599))), IsEmpty());
  EXPECT_THAT(Actions(PlanJob(job, seen, At(601))), ElementsAre("stop digits-worker-2 Straggler"));
}

TEST(JudgeCleanup, FollowsCleanPodPolicy) {
  const struct {
    CleanPodPolicy policy;
    size_t stops;
  } cases[] = {
      {CleanPodPolicy::kRunning, 5}, {CleanPodPolicy::kAll, 6}, {CleanPodPolicy::kNone, 0}};
  for (const auto& c : cases) {
    TrainingJob job = SmallJob();
    job.spec.run_policy.clean_pod_policy = c.policy;
    Observation seen = AllTraining();
    seen.coordinator->phase = TrainingPhase::kSucceeded;
    Put(seen, Exited(Role::kWorker, 1, 9, 0));
    EXPECT_EQ(PlanJob(job, seen, At(10)).actions.size(), c.stops) << ToWord(c.policy);
  }
}

TEST(JudgeCleanup, LeavesThoseTimeWhoEndByThemselves) {
  PlanOptions options;
  options.ending_grace = std::chrono::seconds(10);
  TrainingJob job = SmallJob();
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  Put(seen, Pending(1, 9));  // Would yet have to begin.
  const Plan over = PlanJob(job, seen, At(10), options);
  EXPECT_EQ(Outcome(over), "Succeeded TrainingSucceeded: the model is trained and saved");
  EXPECT_THAT(Actions(over), ElementsAre("stop digits-worker-1 JobFinished"));
  EXPECT_EQ(over.requeue_at, At(20));
  seen.status = over.status;
  for (SeenProcess& process : seen.processes) process.state = ProcessState::kExited;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(12), options)), IsEmpty());
  Find(seen, "digits-ps-0").state = ProcessState::kRunning;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(19), options)), IsEmpty());
  EXPECT_THAT(Actions(PlanJob(job, seen, At(20), options)),
              ElementsAre("stop digits-ps-0 JobFinished"));

  seen.status = AllTraining().status;
  seen.coordinator->phase = TrainingPhase::kFailed;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(19), options)), IsEmpty());
  job.spec.run_policy.active_deadline_seconds = 1;  // Nobody told the processes.
  seen.coordinator->phase = TrainingPhase::kTraining;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(19), options)),
              ElementsAre("stop digits-ps-0 JobFinished"));
}

// A sidecar has no end of its own: its pod holds a GPU for as long as it is there.
TEST(JudgeCleanup, APodThatOutlivesItsProcessRuns) {
  PlanOptions options;
  options.ending_grace = std::chrono::seconds(10);
  TrainingJob job = SmallJob();
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  for (SeenProcess& process : seen.processes) process.state = ProcessState::kExited;
  SeenProcess& worker = Find(seen, "digits-worker-1");
  worker.is_outlived = true;
  const Plan over = PlanJob(job, seen, At(10), options);
  EXPECT_THAT(Actions(over), IsEmpty()) << "it may yet end";
  EXPECT_EQ(over.requeue_at, At(20));
  seen.status = over.status;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(20), options)),
              ElementsAre("stop digits-worker-1 JobFinished"));
  job.spec.run_policy.clean_pod_policy = CleanPodPolicy::kNone;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(20), options)), IsEmpty());
}

TEST(JudgeCleanup, ExpiresTheJobAfterItsTimeToLive) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.ttl_seconds_after_finished = 60;
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  seen.status = PlanJob(job, seen, At(10)).status;
  const Plan early = PlanJob(job, seen, At(69));
  EXPECT_FALSE(early.is_expired);
  EXPECT_EQ(early.requeue_at, At(70));
  EXPECT_TRUE(PlanJob(job, seen, At(70)).is_expired);
}

TEST(PlanJob, StaysFinishedWhateverIsSeen) {
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  const Plan done = PlanJob(SmallJob(), seen, At(10));
  TrainingJob job = SmallJob();
  job.spec.run_policy.suspend = true;
  job.spec.run_policy.active_deadline_seconds = 1;
  Observation strange = AllTraining();
  strange.status = done.status;
  Put(strange, Exited(Role::kParameterServer, 0, 20, 1));
  const Plan plan = PlanJob(job, strange, At(99));
  EXPECT_EQ(Outcome(plan), "Succeeded TrainingSucceeded: the model is trained and saved");
  EXPECT_EQ(plan.status.completion_time, At(10));
  EXPECT_THAT(Events(plan), IsEmpty());
  Observation nothing;
  nothing.status = done.status;
  EXPECT_THAT(Actions(PlanJob(job, nothing, At(99))), IsEmpty());
}

TEST(PlanJob, KeepsRunningWhileTheCoordinatorCannotBeAsked) {
  Observation seen = AllTraining();
  seen.status = PlanJob(SmallJob(), seen, At(1)).status;
  seen.coordinator.reset();
  EXPECT_EQ(Outcome(PlanJob(SmallJob(), seen, At(2))), "Running");
}

TEST(PlanJob, CopiesProgressAndTheSlowestWorkers) {
  Observation seen = AllTraining();
  seen.coordinator->progress.emplace();
  seen.coordinator->progress->step = 42;
  for (int i = 0; i < 30; ++i) {
    WorkerStatus worker;
    worker.name = fmt::format("w{}", i);
    worker.slowdown_percent = 100 + i;
    seen.coordinator->workers.push_back(worker);
  }
  const Plan plan = PlanJob(SmallJob(), seen, At(5));
  EXPECT_EQ(plan.status.progress->step, 42);
  ASSERT_EQ(plan.status.workers.size(), 20u);
  EXPECT_EQ(plan.status.workers[0].name, "w29");
}

}  // namespace
}  // namespace paceline::job
