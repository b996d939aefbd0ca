// A worker whose machine cannot do the work: no failure of the job's, and tried elsewhere.
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

SeenProcess Unfit(int64_t worker, double ended_at, int64_t before = 0) {
  SeenProcess process = Exited(Role::kWorker, worker, ended_at, kExitCannotWorkHere);
  process.node = fmt::format("node-{}", worker);
  process.unfit = before;
  process.attempt = before;
  process.last_word = "no usable GPU";
  return process;
}

TEST(UnfitMachine, CountsForTheSeatAloneAndIsLeft) {
  TrainingJob job = SmallJob();
  job.spec.run_policy.backoff_limit = 3;
  Observation seen = SettledTraining(job);
  Put(seen, Unfit(1, 100, 2));
  const Plan early = PlanJob(job, seen, At(103.9));  // The third backoff of this seat is 4 s.
  EXPECT_THAT(Actions(early), IsEmpty());
  EXPECT_EQ(early.requeue_at, At(104));
  EXPECT_EQ(early.status.failures, 0);
  EXPECT_EQ(Reason(early, ConditionType::kRestarting),
            "True CannotWorkHere digits-worker-1 on node-1: no usable GPU (machine 3 that cannot "
            "do its work)");
  const Plan plan = PlanJob(job, seen, At(104));
  EXPECT_THAT(Actions(plan), ElementsAre("start digits-worker-1 generation=1 attempt=3 failures=0 "
                                         "unfit=3 avoid=node-1"));
  EXPECT_THAT(Events(plan), Contains("Warning CannotWorkHere: digits-worker-1 on node-1: no usable "
                                     "GPU; it is started again on another machine"));
}

TEST(UnfitMachine, IsUsedAgainWhereNoOtherHasRoom) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.status.avoided_nodes = {{"digits-worker-1", "node-1", true}};
  Put(seen, Unfit(1, 100));
  const Plan plan = PlanJob(job, seen, At(101));
  EXPECT_THAT(Actions(plan), ElementsAre(HasSubstr("unfit=1 prefer-not=node-1")));
  EXPECT_THAT(Events(plan), Contains(HasSubstr("on that machine too if no other has room")));
}

TEST(UnfitMachine, EndsTheJobOnlyWhereTooFewWorkersAreLeft) {
  TrainingJob job = SmallJob();  // Three workers, of which two have to be.
  job.spec.run_policy.backoff_limit = 2;
  Observation seen = SettledTraining(job);
  Put(seen, Unfit(1, 100, 40));
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(100))), "Degraded");
  Put(seen, Unfit(2, 101, 1));
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(101))), "Degraded");
  SeenProcess up = Running(Role::kWorker, 2, 101);  // It may be well where it is now.
  up.unfit = 3;
  Put(seen, up);
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(101))), "Degraded");
  SeenProcess well = Exited(Role::kWorker, 2, 101.5, 0);  // Training may be over.
  well.unfit = 3;
  Put(seen, well);
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(101.5))), "Degraded");
  Put(seen, Unfit(2, 102, 2));
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(102))),
            "Failed CannotWorkHere: digits-worker-2 on node-2: no usable GPU; the machines of 2 of "
            "3 workers cannot do the work, after more starts than backoffLimit, 2, and minReplicas "
            "asks for 2");
}

// Where there is one machine alone, nothing is won by trying as long as a cluster would.
TEST(UnfitMachine, EndsTheJobAfterOneMoreStartWhereThereIsNoOther) {
  const TrainingJob job = SmallJob();  // backoffLimit is 6; two of three workers have to be.
  const PlanOptions options{.unfit_retries = 1};
  const auto unfit = [](int64_t worker, double ended_at, int64_t before) {
    SeenProcess process = Unfit(worker, ended_at, before);
    process.node.clear();
    return process;
  };
  Observation seen = SettledTraining(job);
  Put(seen, unfit(1, 100, 0));
  Put(seen, unfit(2, 100, 0));
  EXPECT_THAT(Actions(PlanJob(job, seen, At(101), options)),
              ElementsAre("start digits-worker-1 generation=1 attempt=1 failures=0 unfit=1",
                          "start digits-worker-2 generation=1 attempt=1 failures=0 unfit=1"));
  Put(seen, unfit(1, 103, 1));
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(103), options)), "Degraded") << "the others are enough";
  Put(seen, unfit(2, 103, 1));
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(103), options)),
            "Failed CannotWorkHere: digits-worker-1: no usable GPU; the machines of 2 of 3 workers "
            "cannot do the work, which 2 starts have shown, there is no other machine, and "
            "minReplicas asks for 2");
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(103))), "Degraded") << "as in a cluster";
  // One that joined, and whose step hung, say, may get further another time.
  seen.coordinator->workers = {{.name = "digits-worker-2", .state = "Lost"}};
  EXPECT_NE(Outcome(PlanJob(job, seen, At(103), options)), "Degraded") << "of a former coordinator";
  seen.coordinator->workers[0].device = "CUDA";
  EXPECT_EQ(Outcome(PlanJob(job, seen, At(103), options)), "Degraded");
}

TEST(UnfitMachine, IsForgivenAfterRunningLong) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  SeenProcess later = Unfit(1, 700, 5);
  Put(seen, later);  // It ran from 0 on.
  EXPECT_THAT(Actions(PlanJob(job, seen, At(701))),
              ElementsAre(HasSubstr("attempt=6 failures=0 unfit=1")));
}

// Nobody makes up for the machine of another role: that one is a failure like others, elsewhere.
TEST(UnfitMachine, OfAnotherRoleIsAFailure) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  SeenProcess evaluator = Exited(Role::kEvaluator, 0, 100, kExitCannotWorkHere);
  evaluator.node = "node-9";
  Put(seen, evaluator);
  const Plan plan = PlanJob(job, seen, At(101));
  EXPECT_THAT(Actions(plan), ElementsAre("start digits-evaluator generation=1 attempt=1 failures=1 "
                                         "avoid=node-9"));
  EXPECT_EQ(plan.status.failures, 0);  // The evaluator's count for themselves.
}

// One that was expelled for hanging ends by itself; where it does not, it is stopped.
TEST(HungWorker, IsStoppedAndReplacedElsewhereIfItStays) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  Find(seen, "digits-worker-1").attempt = 2;
  seen.coordinator->hung = {{1, 2, 5}};
  const Plan early = PlanJob(job, seen, At(50));
  EXPECT_THAT(Actions(early), IsEmpty());
  EXPECT_EQ(early.requeue_at, At(65));
  seen.coordinator->hung = {{1, 2, 20}};
  const Plan plan = PlanJob(job, seen, At(65));
  EXPECT_THAT(Actions(plan), ElementsAre("stop digits-worker-1 Hung"));
  EXPECT_THAT(Events(plan), Contains(HasSubstr("Warning Hung: digits-worker-1 on node-1 was "
                                               "expelled because its step hangs")));
  seen.status = plan.status;
  Remove(seen, "digits-worker-1");
  EXPECT_THAT(Actions(PlanJob(job, seen, At(90))),
              ElementsAre(HasSubstr("start digits-worker-1 generation=1 attempt=")));
  EXPECT_THAT(Actions(PlanJob(job, seen, At(90))), ElementsAre(HasSubstr(" avoid=node-1")));
  // Another process of that name, which has not joined yet, is left alone.
  Find(seen, "digits-worker-1") = Running(Role::kWorker, 1, 90);
  Find(seen, "digits-worker-1").attempt = 3;
  EXPECT_THAT(Actions(PlanJob(job, seen, At(91))), IsEmpty());
}

TEST(PoisonedSamples, AreToldOnceAndCounted) {
  const TrainingJob job = SmallJob();
  Observation seen = SettledTraining(job);
  seen.coordinator->poisoned = 1;
  seen.coordinator->poisoned_of = {"sample 17 (position 5 of epoch 0)"};
  const Plan plan = PlanJob(job, seen, At(50));
  EXPECT_THAT(Events(plan),
              ElementsAre("Warning PoisonedSample: left out because they made two workers ill, or "
                          "ended them: sample 17 (position 5 of epoch 0)"));
  EXPECT_EQ(plan.status.poisoned_samples, 1);
  seen.status = plan.status;
  EXPECT_THAT(Events(PlanJob(job, seen, At(51))), IsEmpty());
  seen.coordinator->poisoned = 2;
  seen.coordinator->poisoned_of.push_back("sample 3 (position 9 of epoch 0)");
  EXPECT_THAT(Events(PlanJob(job, seen, At(52))), ElementsAre(HasSubstr("ended them: sample 3 (")));
}

}  // namespace
}  // namespace paceline::job
