#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/job/plan/plan.h"
#include "lib/job/plan/testing/scenes.h"

namespace paceline::job {
namespace {

using namespace paceline::job::testing;  // NOLINT: scenes are this test's language.
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr double kDay = 24 * 3600;

TrainingJob Job() {
  TrainingJob job = SmallJob();
  job.metadata.name_space = "research";
  return job;
}

Plan PlanFor(const TrainingJob& job, const Observation& seen, double now) {
  return PlanJob(job, seen, At(now), {.can_recover_shards = true, .serves_models = true});
}

// Training has just succeeded: the model is written, and its coordinator stays to serve it.
Observation JustDone() {
  Observation seen = AllTraining();
  seen.coordinator->phase = TrainingPhase::kSucceeded;
  seen.coordinator->model_version = 930;
  seen.coordinator->model = SeenModel{.size_bytes = 1234, .sha256 = "ab12"};
  return seen;
}

// All others have ended, and a plan has said what became of the job.
Observation Serving(const TrainingJob& job, double at = 10) {
  Observation seen = JustDone();
  seen.status = PlanFor(job, seen, at).status;
  std::erase_if(seen.processes, [](const SeenProcess& one) { return one.name != "digits-ps-0"; });
  seen.coordinator.reset();
  return seen;
}

TEST(JudgeModel, OfAJobWithoutAVolumeItsPodStaysToServeIt) {
  const TrainingJob job = Job();
  const Plan plan = PlanFor(job, JustDone(), 10);
  EXPECT_EQ(plan.status.state, "Succeeded");
  ASSERT_TRUE(plan.status.model);
  const ModelStatus& model = *plan.status.model;
  EXPECT_EQ(model.state, ModelState::kAvailable);
  EXPECT_EQ(model.where, "pod digits-ps-0");
  EXPECT_EQ(model.until, At(10 + kDay));
  EXPECT_EQ(model.version, 930);
  EXPECT_EQ(model.size_bytes, 1234);
  EXPECT_EQ(model.sha256, "ab12");
  EXPECT_THAT(model.message, HasSubstr("paceline fetch digits -n research"));
  EXPECT_THAT(Events(plan), Contains("Normal ModelAvailable: the model, 1.2 kB, is kept until "
                                     "1970-01-02T00:00:10Z: paceline fetch digits -n research"));
}

TEST(JudgeModel, NoCleanPodPolicyTakesThatPod) {
  for (CleanPodPolicy policy :
       {CleanPodPolicy::kRunning, CleanPodPolicy::kAll, CleanPodPolicy::kNone}) {
    TrainingJob job = Job();
    job.spec.run_policy.clean_pod_policy = policy;
    EXPECT_THAT(Actions(PlanFor(job, JustDone(), 10)), Not(Contains(HasSubstr("digits-ps-0"))));
    const Plan later = PlanFor(job, Serving(job), 1000);
    EXPECT_THAT(Actions(later), IsEmpty()) << ToWord(policy);
    EXPECT_THAT(Events(later), IsEmpty());
    EXPECT_EQ(later.requeue_at, At(10 + kDay));
    EXPECT_EQ(later.status.replica_statuses.parameter_server.active, 0);
    EXPECT_EQ(later.status.replica_statuses.parameter_server.succeeded, 1);
  }
}

TEST(JudgeModel, FetchedWithItsDigestConfirmedItIsSettled) {
  const TrainingJob job = Job();
  Observation seen = Serving(job);
  Put(seen, Exited(Role::kParameterServer, 0, 50, 0));
  seen.coordinator = JustDone().coordinator;
  seen.coordinator->model->is_fetched = true;
  const Plan plan = PlanFor(job, seen, 50);
  EXPECT_EQ(plan.status.model->state, ModelState::kFetched);
  EXPECT_EQ(plan.status.model->sha256, "ab12");
  EXPECT_EQ(plan.status.model->where, "");
  EXPECT_FALSE(plan.status.model->until);
  EXPECT_THAT(Actions(plan), IsEmpty());
  EXPECT_THAT(Events(plan),
              Contains("Normal ModelFetched: the model was fetched, and its digest confirmed"));
  seen.status = plan.status;
  EXPECT_THAT(Events(PlanFor(job, seen, 51)), IsEmpty());
  // Before anybody had seen that the job is over.
  seen.status = AllTraining().status;
  EXPECT_EQ(PlanFor(job, seen, 52).status.model->state, ModelState::kFetched);
}

TEST(JudgeModel, APodThatEndsBeforeThatIsALossThatIsSaid) {
  const TrainingJob job = Job();
  const Observation serving = Serving(job);
  struct Case {
    const char* what;
    std::function<void(Observation&)> happens;
    const char* why;
  };
  const Case cases[] = {
      {"gone", [](Observation& seen) { Remove(seen, "digits-ps-0"); },
       "digits-ps-0, which served the model, is gone"},
      {"killed", [](Observation& seen) { Put(seen, Exited(Role::kParameterServer, 0, 50, 0, 9)); },
       "digits-ps-0 was killed by signal 9 while it served the model"},
      {"asked to end",
       [](Observation& seen) {
         Put(seen, Exited(Role::kParameterServer, 0, 50, 0));
         seen.coordinator = JustDone().coordinator;
       },
       "digits-ps-0 exited with code 0 while it served the model"},
      {"being deleted", [](Observation& seen) { Find(seen, "digits-ps-0").is_stopping = true; },
       "digits-ps-0 is stopping"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    Observation seen = serving;
    one.happens(seen);
    const Plan plan = PlanFor(job, seen, 50);
    EXPECT_EQ(plan.status.state, "Succeeded");
    EXPECT_EQ(plan.status.model->state, ModelState::kLost);
    EXPECT_THAT(plan.status.model->message, HasSubstr(one.why));
    EXPECT_THAT(Actions(plan), IsEmpty());  // Nothing restarts it.
    EXPECT_THAT(Events(plan), Contains(AllOf(HasSubstr("Warning ModelLost"), HasSubstr(one.why))));
  }
  Observation silent = serving;  // Its machine may come back.
  Find(silent, "digits-ps-0").node_lost_since = At(49);
  EXPECT_EQ(PlanFor(job, silent, 50).status.model->state, ModelState::kAvailable);
}

TEST(JudgeModel, NobodyFetchesItInTimeAndItGoes) {
  TrainingJob job = Job();
  job.spec.run_policy.clean_pod_policy = CleanPodPolicy::kNone;
  Observation seen = Serving(job);
  const Plan plan = PlanFor(job, seen, 10 + kDay);
  EXPECT_EQ(plan.status.model->state, ModelState::kExpired);
  EXPECT_THAT(Actions(plan), ElementsAre("stop digits-ps-0 ModelExpired"));
  EXPECT_THAT(Events(plan), Contains(HasSubstr("Warning ModelExpired: nobody fetched the model by "
                                               "1970-01-02T00:00:10Z; it goes with digits-ps-0")));
  seen.status = plan.status;  // And that stop came to nothing.
  const Plan again = PlanFor(job, seen, 11 + kDay);
  EXPECT_THAT(Actions(again), ElementsAre("stop digits-ps-0 ModelExpired"));
  EXPECT_THAT(Events(again), IsEmpty());
}

TEST(JudgeModel, TheTimeToLiveBoundsIt) {
  TrainingJob job = Job();
  job.spec.run_policy.ttl_seconds_after_finished = 600;
  EXPECT_EQ(PlanFor(job, JustDone(), 10).status.model->until, At(610));
  job.spec.run_policy.ttl_seconds_after_finished = 0;
  const Plan at_once = PlanFor(job, JustDone(), 10);
  EXPECT_EQ(at_once.status.model->state, ModelState::kExpired);
  EXPECT_THAT(Events(at_once), Contains(HasSubstr("Warning ModelExpired")));
  EXPECT_TRUE(at_once.is_expired);
}

TEST(JudgeModel, OnAVolumeThatOutlivesThePodItIsSaidWhere) {
  TrainingJob job = Job();
  job.spec.output.volume.emplace().persistent_volume_claim = Claim{.claim_name = "digits-out"};
  const Plan plan = PlanFor(job, JustDone(), 10);
  EXPECT_EQ(plan.status.model->state, ModelState::kOnVolume);
  EXPECT_EQ(plan.status.model->where, "claim digits-out, model.safetensors");
  EXPECT_EQ(plan.status.model->sha256, "ab12");
  EXPECT_FALSE(plan.status.model->until);
  Observation seen = JustDone();
  seen.status = plan.status;
  EXPECT_THAT(Actions(PlanFor(job, seen, 20)), Contains("stop digits-ps-0 JobFinished"));
  // One that does not outlive it is none.
  job.spec.output.volume.emplace().empty_dir = Node{};
  EXPECT_EQ(PlanFor(job, JustDone(), 10).status.model->state, ModelState::kAvailable);
}

// While training finishes, status.finishing knows of a model; from its end on status.model does.
TEST(JudgeModel, IsSpokenOfInOnePlace) {
  TrainingJob job = Job();
  Observation seen = JustDone();
  seen.coordinator->phase = TrainingPhase::kFinishing;
  seen.status = PlanFor(job, seen, 10).status;
  EXPECT_EQ(seen.status.finishing->model_version, 930);
  EXPECT_FALSE(seen.status.model);
  const Plan done = PlanFor(
      job,
      [&] {
        Observation over = seen;
        over.coordinator->phase = TrainingPhase::kSucceeded;
        return over;
      }(),
      11);
  EXPECT_FALSE(done.status.finishing);
  EXPECT_EQ(done.status.model->version, 930);
  // The deadline ends a job whose model is written as a success, and its coordinator serves it.
  job.spec.run_policy.active_deadline_seconds = 60;
  const Plan late = PlanFor(job, seen, 61);
  EXPECT_EQ(late.status.state, "Succeeded");
  EXPECT_FALSE(late.status.finishing);
  EXPECT_EQ(late.status.model->state, ModelState::kAvailable);
  EXPECT_EQ(late.status.model->sha256, "ab12");
  // One that was lost with its pod before it was judged is lost, and that is said.
  Remove(seen, "digits-ps-0");
  seen.coordinator.reset();
  const Plan lost = PlanFor(Job(), seen, 12);
  EXPECT_EQ(lost.status.state, "Succeeded");
  EXPECT_EQ(lost.status.model->state, ModelState::kLost);
  EXPECT_EQ(lost.status.model->version, 930);
}

TEST(JudgeModel, OfAJobThatFailedItIsServedIfThereIsOne) {
  Observation seen = JustDone();
  seen.coordinator->phase = TrainingPhase::kFailed;
  const Plan plan = PlanFor(Job(), seen, 10);
  EXPECT_EQ(plan.status.state, "Failed");
  EXPECT_EQ(plan.status.model->state, ModelState::kAvailable);
  EXPECT_EQ(plan.status.replica_statuses.parameter_server.failed, 1);
  seen.coordinator->model.reset();
  const Plan without = PlanFor(Job(), seen, 10);
  EXPECT_FALSE(without.status.model);
  EXPECT_THAT(Actions(without), Contains("stop digits-ps-0 JobFinished"));
}

TEST(JudgeModel, OfWhatEndedBeforeThereWasSuchAThingNothingIsSaid) {
  Observation seen = Serving(Job());
  seen.status.model.reset();
  const Plan plan = PlanFor(Job(), seen, 50);
  EXPECT_FALSE(plan.status.model);
  EXPECT_THAT(Events(plan), IsEmpty());
}

TEST(JudgeModel, OnOneMachineTheShellSaysWhereItIs) {
  EXPECT_FALSE(PlanJob(Job(), JustDone(), At(10), {.can_recover_shards = true}).status.model);
}

}  // namespace
}  // namespace paceline::job
