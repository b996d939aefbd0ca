#include "lib/coordination/phases/hanging.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using protocol::Doing;
using ::testing::HasSubstr;
using testing::Job;
using testing::TwoWorkers;

// A push whose samples took so long each.
void PushAt(Job& job, uint64_t connection, double seconds_per_sample, double injected = 0) {
  protocol::PushDone done = job.Answer(connection);
  done.timing.compute = Seconds(seconds_per_sample * done.samples + injected);
  done.timing.injected = Seconds(injected);
  job.Hear(connection, done);
}

// Its step has been still for that long.
void Beat(Job& job, uint64_t connection, double still, uint64_t steps = 1,
          Doing doing = Doing::kComputing) {
  job.Hear(connection, protocol::Heartbeat{doing, steps, Seconds(still)});
}

class HangingTest : public ::testing::TestWithParam<sync::Scheme> {};

TEST_P(HangingTest, AStepWithoutProgressForTenTimesItsDurationIsExpelled) {
  CoordinatorOptions options = TwoWorkers(4);
  Job job(options, GetParam());
  job.Opened({{1, 0}, {2, 1}});
  PushAt(job, 1, 2);
  PushAt(job, 2, 2);
  job.CommittedEverywhere(1);
  const double allowed = 10 * 2 * job.coordinator.status().workers[1].batch_size;
  ASSERT_GT(allowed, 30);
  Beat(job, 2, allowed - 1);
  EXPECT_FALSE(job.WasSent<protocol::Expelled>(2));
  Beat(job, 2, allowed);
  EXPECT_THAT(job.Sent<protocol::Expelled>(2).reason, HasSubstr("its step hangs: no progress for"));
  EXPECT_TRUE(job.WasClosed(2));
  EXPECT_EQ(job.coordinator.epochs()[0].leased + job.coordinator.epochs()[0].accumulated +
                job.coordinator.epochs()[0].free + job.coordinator.epochs()[0].committed,
            16u);
  const Status status = job.coordinator.status();
  EXPECT_EQ(status.workers[1].expulsions, 1u);
  ASSERT_TRUE(status.workers[1].quarantine.has_value());
  EXPECT_TRUE(status.workers[1].quarantine->is_hung);
  // Nobody waits for it: the other one goes on alone.
  for (uint64_t version = 2; version <= 3; ++version) {
    if (job.SentCount<protocol::Released>(1) < static_cast<int>(version)) break;
    PushAt(job, 1, 2);
    job.CommittedEverywhere(version);
  }
  if (GetParam() != sync::Scheme::kWbsp) {  // There it goes on from its own copy.
    EXPECT_GE(job.coordinator.status().workers[0].steps, 2u);
  }
}

INSTANTIATE_TEST_SUITE_P(Schemes, HangingTest,
                         ::testing::Values(sync::Scheme::kBsp, sync::Scheme::kSsp,
                                           sync::Scheme::kAsp, sync::Scheme::kBackupWorkers,
                                           sync::Scheme::kDbw, sync::Scheme::kWbsp,
                                           sync::Scheme::kPsPlus));

TEST(HangLimitTest, IsNeverLessThanTheFloor) {
  Job job(TwoWorkers(4));
  job.Opened({{1, 0}, {2, 1}});
  PushAt(job, 1, 0.001);
  PushAt(job, 2, 0.001);
  job.CommittedEverywhere(1);
  Beat(job, 2, 29);
  EXPECT_FALSE(job.WasSent<protocol::Expelled>(2));
  Beat(job, 2, 30);
  EXPECT_TRUE(job.WasSent<protocol::Expelled>(2));
}

TEST(HangLimitTest, AScriptMayDoOtherThingsBetweenItsStepsForMuchLonger) {
  CoordinatorOptions options = TwoWorkers(4);
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  PushAt(job, 1, 0.001);
  PushAt(job, 2, 0.001);
  job.CommittedEverywhere(1);
  Beat(job, 2, 1799, 1, Doing::kInScript);
  EXPECT_FALSE(job.WasSent<protocol::Expelled>(2));
  EXPECT_EQ(StandstillInWords(job.coordinator.status(), job.now),
            "others wait for w1, whose script has been busy between two steps for over 60 s");
  Beat(job, 1, 0, 1, Doing::kComputing);
  EXPECT_EQ(StandstillInWords(job.coordinator.status(), job.now), "") << "nobody waits";
  Beat(job, 2, 1800, 1, Doing::kInScript);
  EXPECT_THAT(job.Sent<protocol::Expelled>(2).reason,
              HasSubstr("its script, between two steps, hangs: no progress for 1800 s"));
}

TEST(HangLimitTest, ChangesWhileTheJobRuns) {
  Job job(TwoWorkers(4));
  job.Opened({{1, 0}, {2, 1}});
  job.Step(SpecChanged{.workers_wanted = 2, .hang = HangOptions{.in_script = Seconds(60)}});
  Beat(job, 2, 59, 1, Doing::kInScript);
  EXPECT_FALSE(job.WasSent<protocol::Expelled>(2));
  Beat(job, 2, 60, 1, Doing::kInScript);
  EXPECT_TRUE(job.WasSent<protocol::Expelled>(2));
}

// In whatever round it is, WBSP's first one included.
TEST(HangLimitTest, GivesAFirstStepItsTime) {
  for (const sync::Scheme scheme : {sync::Scheme::kBsp, sync::Scheme::kWbsp}) {
    Job job(TwoWorkers(4), scheme);
    job.Opened({{1, 0}, {2, 1}});
    PushAt(job, 1, 0.001);
    Beat(job, 2, 899, 0);
    EXPECT_FALSE(job.WasSent<protocol::Expelled>(2));
    Beat(job, 2, 900, 0);
    EXPECT_THAT(job.Sent<protocol::Expelled>(2).reason, HasSubstr("900 s are allowed"));
  }
}

TEST(HangLimitTest, GoesByTheOthersWhileAWorkerHasNotPushed) {
  Job job(TwoWorkers(4), sync::Scheme::kWbsp);
  job.Opened({{1, 0}, {2, 1}});
  PushAt(job, 1, 2);
  Beat(job, 2, 31);  // Its second local step: the first one's push is on its way.
  EXPECT_FALSE(job.WasSent<protocol::Expelled>(2));
  Beat(job, 2, 10 * 2 * job.coordinator.status().workers[1].batch_size);
  EXPECT_TRUE(job.WasSent<protocol::Expelled>(2));
}

// A slow link, and Pareto delays of hours: what does not compute does not hang. And neither do they
// make a step's expected duration longer.
TEST(HangLimitTest, ExemptsTransfersWaitingAndWhatIsInjected) {
  Job job(TwoWorkers(4));
  job.Opened({{1, 0}, {2, 1}});
  PushAt(job, 1, 0.001, /*injected=*/5000);
  PushAt(job, 2, 0.001, /*injected=*/5000);
  job.CommittedEverywhere(1);
  for (const Doing doing : {Doing::kTransferring, Doing::kDelayed, Doing::kWaiting})
    Beat(job, 2, 1e6, 1, doing);
  EXPECT_FALSE(job.WasSent<protocol::Expelled>(2));
  Beat(job, 2, 30);
  EXPECT_TRUE(job.WasSent<protocol::Expelled>(2));
}

// An evaluation is none of this.
TEST(HangLimitTest, LeavesAnEvaluatorTheTimeOfAFirstStepForEachBatch) {
  CoordinatorOptions options = TwoWorkers(4);
  options.has_evaluator = true;
  Job job(options);
  job.Opened({{1, 0}, {2, 1}});
  job.JoinEvaluator(9);
  Beat(job, 9, 899);
  EXPECT_FALSE(job.WasSent<protocol::Expelled>(9));
  Beat(job, 9, 900);
  EXPECT_THAT(job.Sent<protocol::Expelled>(9).reason, HasSubstr("its evaluation hangs"));
}

}  // namespace
}  // namespace paceline::coordination
