// Workers that are expelled: the process is, its seat is not.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"
#include "tests/explore/coordination/sick_world.h"

namespace paceline::coordination {
namespace {

using ::testing::HasSubstr;
using testing::Job;

CoordinatorOptions ThreeWorkers() {
  CoordinatorOptions options;
  options.workers_wanted = 3;
  options.workers_max = 4;
  options.global_batch_size = 12;
  options.epochs_max = 8;
  return options;
}

void Join(Job& job, uint64_t connection, uint64_t worker, std::optional<uint64_t> attempt) {
  job.Hear(connection, protocol::Join{protocol::Role::kWorker, WorkerId(worker), testing::Model(),
                                      job.samples, "CPU", attempt});
}

void Push(Job& job, uint64_t connection, bool is_finite) {
  protocol::PushDone done = job.Answer(connection);
  done.gradient.is_finite = is_finite;
  if (!is_finite) done.non_finite_tensor = "w";
  job.Hear(connection, done);
}

// Worker 2, of connection 3 and attempt 4, is ill until it is expelled.
void ExpelWorker2(Job& job) {
  for (uint64_t s = 0; s < 1; ++s) job.Register(s);
  job.Join(1, 0);
  job.Join(2, 1);
  Join(job, 3, 2, 4);
  job.Say(0, protocol::Configured{{1, 0}});
  job.Say(0, protocol::Filled{WorkerId(0), Incarnation(1)});
  job.Say(0, protocol::Opened{});
  for (uint64_t version = 1; version <= 3; ++version) {
    Push(job, 3, false);
    Push(job, 1, true);
    Push(job, 2, true);
    job.CommittedEverywhere(version);
  }
}

TEST(QuarantineTest, TheProcessIsExpelledAndTheSeatStays) {
  Job job(ThreeWorkers());
  ExpelWorker2(job);
  ASSERT_TRUE(job.WasSent<protocol::Expelled>(3));
  EXPECT_FALSE(job.Has<RolledBack>());
  const WorkerStatus ill = job.coordinator.status().workers[2];
  EXPECT_FALSE(ill.is_member);
  EXPECT_EQ(ill.expulsions, 1u);
  ASSERT_TRUE(ill.quarantine.has_value());
  EXPECT_EQ(ill.quarantine->reason, "its gradients are not finite again and again");
  EXPECT_FALSE(ill.quarantine->is_hung);
  // That very process is not let in again...
  Join(job, 4, 2, 4);
  EXPECT_EQ(job.Sent<protocol::Refused>(4).reason, protocol::RefuseReason::kExpelled);
  EXPECT_THAT(job.Sent<protocol::Refused>(4).detail, HasSubstr("w2 was expelled: its gradients"));
  // ...and another one is.
  Join(job, 5, 2, 5);
  EXPECT_TRUE(job.WasSent<protocol::Admitted>(5));
  const WorkerStatus well = job.coordinator.status().workers[2];
  EXPECT_TRUE(well.is_member);
  EXPECT_EQ(well.expulsions, 1u);
  EXPECT_FALSE(well.quarantine.has_value());
}

TEST(QuarantineTest, NamesTheTensorThatWasTheFirstToBeIll) {
  Job job(ThreeWorkers());
  ExpelWorker2(job);
  bool is_named = false;
  for (const Effect& effect : job.effects) {
    const auto* event = std::get_if<WorkerEvent>(&effect);
    is_named = is_named || (event != nullptr && event->kind == WorkerEventKind::kNonFinite &&
                            event->detail.find("loss 0.5, first in w") != std::string::npos);
  }
  EXPECT_TRUE(is_named);
}

// With two workers one that is ill never takes the job back, whatever the scheme.
class SickOfTwoTest : public ::testing::TestWithParam<sync::Scheme> {};

TEST_P(SickOfTwoTest, NeverRollsTheJobBack) {
  for (const uint64_t sick : {0, 1}) {
    for (uint64_t walk = 0; walk < 20; ++walk) {
      testing::SickWorld world({.scheme = GetParam(),
                                .workers = 2,
                                .samples = 64,
                                .epochs = 3,
                                .seed = walk,
                                .sick = {sick}});
      world.Run();
      SCOPED_TRACE(fmt::format("worker {}, walk {}", sick, walk));
      ASSERT_EQ(world.RollBacks(), 0u) << world.job().coordinator.status().last_roll_back;
      ASSERT_THAT(world.Expelled(), ::testing::ElementsAre(sick));
      ASSERT_TRUE(world.IsFinishing());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, SickOfTwoTest,
                         ::testing::Values(sync::Scheme::kBsp, sync::Scheme::kBackupWorkers,
                                           sync::Scheme::kSsp, sync::Scheme::kAsp,
                                           sync::Scheme::kDbw, sync::Scheme::kWbsp,
                                           sync::Scheme::kPsPlus, sync::Scheme::kKAsync,
                                           sync::Scheme::kKBatchAsync));

}  // namespace
}  // namespace paceline::coordination
