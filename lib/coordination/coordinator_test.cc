#include "lib/coordination/coordinator.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Job;
using testing::Model;
using ::testing::SizeIs;

CoordinatorOptions TwoShards(uint32_t workers) {
  CoordinatorOptions options;
  options.shards = 2;
  options.workers_wanted = workers;
  options.workers_max = 4;
  options.global_batch_size = 4 * workers;
  options.epochs_max = 1;
  return options;
}

TEST(CoordinatorTest, ClockOfStartupStartsWithTheFirstStep) {
  Coordinator coordinator(TwoShards(1));
  EXPECT_EQ(coordinator.Deadline(), Time::min());
  std::vector<Effect> effects;
  coordinator.Step(DeadlineReached{}, Time(Seconds(1000)), effects);
  EXPECT_EQ(coordinator.Deadline(), Time(Seconds(1120)));
  EXPECT_THAT(effects, IsEmpty());
}

TEST(CoordinatorTest, ShardsThatDoNotRegisterAreNamed) {
  Job job(TwoShards(1));
  job.Register(0);
  job.Pass(Seconds(120));
  EXPECT_EQ(job.outcome(), "shards did not register within 120 s: s1");
}

TEST(CoordinatorTest, JoinBeforeShardsIsAdmittedAndFillsWhenTheyAreConfigured) {
  Job job(TwoShards(1));
  job.Join(1, 0);
  EXPECT_EQ(job.Sent<protocol::Admitted>(1).incarnation, Incarnation(1));
  EXPECT_FALSE(job.Has<ConfigureShards>());
  job.Register(0);
  job.Register(1);
  EXPECT_TRUE(job.Has<ConfigureShards>());
  job.Say(0, protocol::Configured{{1, 0}});
  EXPECT_FALSE(job.WasSent<protocol::Shards>(1));
  job.Say(1, protocol::Configured{{1, 0}});
  EXPECT_TRUE(job.WasSent<protocol::Shards>(1));
  EXPECT_TRUE(job.WasSent<protocol::Fill>(1));
}

TEST(CoordinatorTest, DeathOfTheFillerLetsTheNextOneStartOver) {
  Job job(TwoShards(2));
  job.Configured({{1, 0}, {2, 1}});
  EXPECT_FALSE(job.WasSent<protocol::Fill>(2));
  job.Say(0, protocol::Filled{WorkerId(0), Incarnation(1)});
  job.Step(WorkerGone{ConnectionId(1)});
  EXPECT_TRUE(job.WasSent<protocol::Fill>(2));
  job.Say(1, protocol::Filled{WorkerId(0), Incarnation(1)});
  EXPECT_FALSE(job.Ordered<protocol::Open>());
  job.Say(0, protocol::Filled{WorkerId(1), Incarnation(1)});
  job.Say(1, protocol::Filled{WorkerId(1), Incarnation(1)});
  EXPECT_TRUE(job.Ordered<protocol::Open>());
}

TEST(CoordinatorTest, ANewLifeOfTheFillerFillsEachShardAnew) {
  Job job(TwoShards(2));
  job.Configured({{1, 0}});
  job.Say(0, protocol::Filled{WorkerId(0), Incarnation(1)});
  job.Step(WorkerGone{ConnectionId(1)});
  job.Join(2, 0);
  EXPECT_TRUE(job.WasSent<protocol::Fill>(2));
  job.Say(1, protocol::Filled{WorkerId(0), Incarnation(2)});
  EXPECT_FALSE(job.Ordered<protocol::Open>());
  job.Say(0, protocol::Filled{WorkerId(0), Incarnation(2)});
  EXPECT_TRUE(job.Ordered<protocol::Open>());
}

TEST(CoordinatorTest, RefusalsSayWhatWouldBeRight) {
  struct Case {
    std::string name;
    uint64_t worker;
    store::Layout layout;
    uint64_t samples;
    protocol::RefuseReason reason;
    std::string detail;
    WireTypes types = {};
  };
  const std::vector<Case> cases = {
      {"layout", 1, Model(7), 16, protocol::RefuseReason::kLayoutDiffers, "w"},
      {"no parameters", 1, store::Layout(), 16, protocol::RefuseReason::kLayoutDiffers,
       "no parameters"},
      {"data", 1, Model(), 13, protocol::RefuseReason::kDataDiffers, "13 samples, want 16"},
      {"no data", 1, Model(), 0, protocol::RefuseReason::kDataDiffers, "no samples"},
      {"index", 4, Model(), 16, protocol::RefuseReason::kUnknownWorker,
       "4, want less than maxReplicas 4"},
      {"seat taken", 0, Model(), 16, protocol::RefuseReason::kAlreadyJoined,
       "w0 has joined already"},
      {"gradients",
       1,
       Model(),
       16,
       protocol::RefuseReason::kNetworkDiffers,
       "spec.network.gradientType is BFloat16, want Float32",
       {.gradients = WireType::kBfloat16}},
      {"parameters",
       1,
       Model(),
       16,
       protocol::RefuseReason::kNetworkDiffers,
       "spec.network.parameterType is BFloat16, want Float32",
       {.parameters = WireType::kBfloat16}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Job job(TwoShards(2));
    job.Join(1, 0);
    job.Step(WorkerSaid{ConnectionId(2), protocol::Join{.worker = WorkerId(c.worker),
                                                        .layout = c.layout,
                                                        .train_samples = c.samples,
                                                        .wire_types = c.types}});
    const auto refused = job.Sent<protocol::Refused>(2);
    EXPECT_EQ(refused.reason, c.reason);
    EXPECT_THAT(refused.detail, HasSubstr(c.detail));
    EXPECT_TRUE(job.WasClosed(2));
  }
}

// What it reads travels as it is, whatever workers round.
TEST(CoordinatorTest, AnEvaluatorMayReadEachBitWhereWorkersRound) {
  CoordinatorOptions options = TwoShards(2);
  options.wire_types = {WireType::kBfloat16, WireType::kBfloat16};
  Job job(options);
  job.JoinEvaluator(1);
  EXPECT_TRUE(job.WasSent<protocol::Admitted>(1));
  job.Join(2, 0);
  EXPECT_EQ(job.Sent<protocol::Refused>(2).reason, protocol::RefuseReason::kNetworkDiffers);
}

TEST(CoordinatorTest, QuietMemberLosesItsSeatToANewcomer) {
  Job job(TwoShards(2));
  job.Join(1, 0);
  job.now += Seconds(2.5);
  job.Join(2, 0);
  EXPECT_TRUE(job.WasClosed(1));
  EXPECT_EQ(job.Sent<protocol::Admitted>(2).incarnation, Incarnation(2));
}

TEST(CoordinatorTest, ShardsAreToldWhoseTransfersToTake) {
  using protocol::Admit;
  Job job(TwoShards(2));
  const auto admitted = [&] {
    std::vector<std::pair<uint64_t, uint64_t>> all;
    for (const Admit& admit : job.AllOrdered<Admit>())
      all.emplace_back(admit.worker.value(), admit.incarnation.value());
    return all;
  };
  using Lives = std::vector<std::pair<uint64_t, uint64_t>>;
  // Before they are configured there is nobody to tell.
  job.JoinEvaluator(9);
  job.Join(1, 0);
  EXPECT_EQ(admitted(), Lives());
  job.Register(0);
  job.Register(1);
  EXPECT_EQ(admitted(), (Lives{{0, 1}}));
  job.Join(2, 1);
  EXPECT_EQ(admitted(), (Lives{{0, 1}, {1, 1}}));
  // A new life, and one that is refused.
  job.now += Seconds(2.5);
  job.Join(3, 0);
  job.Join(4, 0);
  EXPECT_EQ(admitted(), (Lives{{0, 1}, {1, 1}, {0, 2}}));
}

TEST(CoordinatorTest, TrainingOpensWithTheFewerAfterTheScheduleTimeout) {
  Job job(TwoShards(2));
  job.Opened({{1, 0}});
  EXPECT_FALSE(job.Has<TrainingOpened>());
  job.PassBeating(Seconds(600), {1});
  EXPECT_EQ(job.Last<TrainingOpened>().workers, 1u);
}

TEST(CoordinatorTest, DeterministicJobFailsWithoutAllItsWorkers) {
  CoordinatorOptions options = TwoShards(2);
  options.is_deterministic = true;
  Job job(options);
  job.Opened({{1, 0}});
  job.PassBeating(Seconds(600), {1});
  EXPECT_EQ(job.outcome(), "1 of at least 2 workers joined within 600 s");
}

TEST(CoordinatorTest, WhoHandsOverFrozenTensorsIsNotLate) {
  Job job(TwoShards(2));
  for (const uint64_t shard : {0, 1}) job.Register(shard);
  job.PassBeating(Seconds(599), {});
  job.Step(FrozenArriving{3'000'000, 9'000'000});
  EXPECT_EQ(job.coordinator.status().startup_waits_for,
            "the first worker, which hands over its frozen parameters: 3 of 9 MB");
  job.PassBeating(Seconds(599), {});
  job.Step(FrozenArriving{9'000'000, 9'000'000});
  EXPECT_EQ(job.coordinator.status().startup_waits_for, "the first worker");
  job.PassBeating(Seconds(599), {});
  EXPECT_EQ(job.outcome(), "");
  job.PassBeating(Seconds(2), {});
  EXPECT_EQ(job.outcome(), "0 of at least 1 workers joined within 600 s");
}

TEST(CoordinatorTest, OneEpochOfBspEndsInSuccess) {
  Job job(TwoShards(2));
  job.Opened({{1, 0}, {2, 1}});
  ASSERT_EQ(job.coordinator.status().phase, Phase::kTraining);
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 1);
  job.PushFor(1);
  job.PushFor(2);
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 1);
  job.Committed(0, 1);
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 1);
  job.Committed(1, 1);
  EXPECT_EQ(job.SentCount<protocol::Released>(1), 2);
  EXPECT_EQ(job.coordinator.status().committed_samples, 8u);
  job.PushFor(1);
  job.PushFor(2);
  job.Committed(0, 2);
  job.Committed(1, 2);
  EXPECT_EQ(job.Last<EpochCompleted>().epoch, 0u);
  EXPECT_EQ(job.Last<SaveModel>().version, Version(2));
  EXPECT_TRUE(job.WasSent<protocol::Finish>(1));
  EXPECT_TRUE(job.WasClosed(2));
  job.Step(ModelSaved{Version(2), {1, 0}, ""});
  EXPECT_TRUE(job.Last<Finished>().is_success);
  EXPECT_EQ(job.outcome(), "stopped after 1 epochs");
  EXPECT_TRUE(job.Ordered<protocol::StopShard>());
}

}  // namespace
}  // namespace paceline::coordination
