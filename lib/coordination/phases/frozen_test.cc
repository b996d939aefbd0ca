// Workers whose scripts have tensors of their own, which no shard stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/testing.h"

namespace paceline::coordination {
namespace {

using protocol::FrozenTensor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Job;
using testing::Model;
using testing::TwoWorkers;

const FrozenTensor kBase{"base", "bfloat16 [2]", "1"}, kOther{"base", "bfloat16 [2]", "2"};

void Join(Job& job, uint64_t connection, uint64_t worker, std::vector<FrozenTensor> frozen,
          protocol::Role role = protocol::Role::kWorker) {
  protocol::Join join{role, WorkerId(worker), Model(), job.samples};
  join.frozen = std::move(frozen);
  job.Hear(connection, join);
}

TEST(FrozenTest, WhoHasTheSameIsAdmittedAndWhoHasNotIsRefusedByName) {
  Job job(TwoWorkers());
  job.Register(0);
  Join(job, 1, 0, {kBase});
  Join(job, 2, 1, {kOther});
  EXPECT_EQ(job.Sent<protocol::Refused>(2).reason, protocol::RefuseReason::kLayoutDiffers);
  EXPECT_THAT(job.Sent<protocol::Refused>(2).detail,
              HasSubstr("frozen parameter base has other values than that of the other workers"));
  Join(job, 3, 1, {kBase});
  EXPECT_TRUE(job.Sent<protocol::Admitted>(3).compares_frozen);
  Join(job, 4, 0, {kOther}, protocol::Role::kEvaluator);
  EXPECT_TRUE(job.WasSent<protocol::Refused>(4)) << "it would judge another model";
}

TEST(FrozenTest, AnEvaluatorThatCameFirstGoesWhereTheFirstWorkerHasAnother) {
  for (const FrozenTensor& of_worker : {kBase, kOther}) {
    Job job(TwoWorkers());
    job.Register(0);
    Join(job, 1, 0, {kBase}, protocol::Role::kEvaluator);
    EXPECT_TRUE(job.WasSent<protocol::Admitted>(1));
    Join(job, 2, 0, {of_worker});
    EXPECT_TRUE(job.WasSent<protocol::Admitted>(2));
    EXPECT_EQ(job.WasSent<protocol::Refused>(1), of_worker == kOther);
  }
}

TEST(FrozenTest, TheModelIsSavedWithThemByName) {
  Job job(TwoWorkers());
  job.Register(0);
  for (const uint64_t worker : {0, 1}) Join(job, worker + 1, worker, {kBase});
  job.Say(0, protocol::Configured{TwoWorkers().generation});
  job.Say(0, protocol::Filled{WorkerId(0), Incarnation(1)});
  job.Say(0, protocol::Opened{});
  job.PushFor(1);
  job.Step(StopAsked{"enough"});
  job.PushFor(2);
  job.CommittedEverywhere(1);
  EXPECT_THAT(job.Last<SaveModel>().frozen, ElementsAre(kBase));
  EXPECT_EQ(job.coordinator.status().frozen_parameters, 1u);
}

// Goes on from a checkpoint that has these; absent: from one of an earlier version.
CoordinatorOptions From(const std::optional<std::vector<FrozenTensor>>& frozen) {
  Checkpoint checkpoint{.name = "000001-g1.0-v1", .serial = 1, .generation = {1, 0}};
  checkpoint.state.version = Version(1);
  checkpoint.state.layout = Model();
  checkpoint.state.train_samples = 16;
  checkpoint.state.frozen = frozen;
  CoordinatorOptions options = TwoWorkers();
  options.generation = {2, 0};
  options.checkpoint = CheckpointOptions{};
  options.checkpoint->serial = 2;
  options.checkpoint->found = {checkpoint};
  return options;
}

TEST(FrozenTest, AreComparedWithThoseOfTheCheckpointIfItSays) {
  for (const bool does_say : {false, true}) {
    Job job(does_say ? From({{kBase}}) : From(std::nullopt));
    job.Register(0);
    Join(job, 1, 0, {kOther});
    ASSERT_EQ(job.WasSent<protocol::Refused>(1), does_say);
    if (!does_say) continue;
    EXPECT_THAT(job.Sent<protocol::Refused>(1).detail,
                HasSubstr("frozen parameter base has other values than that of checkpoint "
                          "000001-g1.0-v1: "));
    Join(job, 2, 0, {kBase});
    EXPECT_TRUE(job.WasSent<protocol::Admitted>(2));
  }
}

// The model with `base`, of that kind.
store::Layout WithBase(store::TensorKind kind) {
  std::vector<store::TensorSpec> specs;
  const store::Layout model = Model();
  for (const store::TensorPlace& place : model.tensors()) specs.push_back(place.spec);
  specs.push_back({"base", {2}, store::DataType::kFloat32, kind});
  return *store::Layout::Create(specs);
}

// The checkpoint holds it as a buffer, or as a parameter that a group of the job freezes.
TEST(FrozenTest, WhoHasAsFrozenWhatTheCheckpointHoldsIsToldSo) {
  for (const bool by_group : {false, true}) {
    CoordinatorOptions options = From(std::nullopt);
    options.checkpoint->found.front().state.layout =
        WithBase(by_group ? store::TensorKind::kParameter : store::TensorKind::kBuffer);
    if (by_group) options.parameter_groups = {{.match = {"b*"}, .is_frozen = true}};
    Job job(options);
    job.Register(0);
    Join(job, 1, 0, {{"base", "float32 [2]", "1"}});
    EXPECT_EQ(job.Sent<protocol::Refused>(1).reason, protocol::RefuseReason::kHoldsFrozen);
    EXPECT_THAT(job.Sent<protocol::Refused>(1).detail,
                HasSubstr("1 of this worker's frozen parameters, base the first, are held by "
                          "shards according to checkpoint 000001-g1.0-v1: say"));
    Join(job, 2, 0, {{"other", "float32 [2]", "1"}});
    EXPECT_EQ(job.Sent<protocol::Refused>(2).reason, protocol::RefuseReason::kLayoutDiffers);
  }
}

TEST(FrozenTest, WhoTrainsWhatIsFrozenThereIsToldWhatToDo) {
  Job job(From({{{"base", "float32 [2]", "1"}}}));
  job.Register(0);
  job.Hear(1, protocol::Join{protocol::Role::kWorker, WorkerId(0),
                             WithBase(store::TensorKind::kParameter), job.samples});
  EXPECT_EQ(job.Sent<protocol::Refused>(1).reason, protocol::RefuseReason::kLayoutDiffers);
  EXPECT_THAT(job.Sent<protocol::Refused>(1).detail,
              HasSubstr("1 parameters that this worker trains, base the first, are frozen "
                        "according to checkpoint 000001-g1.0-v1, which lacks them: keep them"));
}

TEST(FrozenTest, WhoAveragesWhatIsFrozenThereIsToldSo) {
  Job job(From({{{"base", "float32 [2]", "1"}}}));
  job.Register(0);
  job.Hear(1, protocol::Join{protocol::Role::kWorker, WorkerId(0),
                             WithBase(store::TensorKind::kBuffer), job.samples});
  EXPECT_EQ(job.Sent<protocol::Refused>(1).reason, protocol::RefuseReason::kLayoutDiffers);
  EXPECT_THAT(job.Sent<protocol::Refused>(1).detail,
              HasSubstr("1 parameters that this worker has averaged, base the first, are frozen "
                        "according to checkpoint 000001-g1.0-v1"));
}

TEST(FrozenTest, BehindAnEarlierCheckpointTheFirstWorkersAreTheEvaluatorsToo) {
  Job job(From(std::nullopt));
  job.Register(0);
  Join(job, 1, 0, {kBase}, protocol::Role::kEvaluator);
  EXPECT_TRUE(job.WasSent<protocol::Admitted>(1));
  Join(job, 2, 0, {kOther});
  EXPECT_TRUE(job.WasSent<protocol::Refused>(1));
}

TEST(FrozenTest, ARollBackDoesNotForgetThem) {
  for (const CoordinatorOptions& options : {TwoWorkers(), From(std::nullopt)}) {
    Job job(options);
    job.Register(0);
    Join(job, 1, 0, {kBase});
    job.Step(ShardGone{ShardId(0), "killed"});
    ASSERT_TRUE(job.Has<RolledBack>());
    job.Register(0);
    Join(job, 2, 0, {kOther});
    EXPECT_TRUE(job.WasSent<protocol::Refused>(2));
    Join(job, 3, 0, {kBase});
    EXPECT_TRUE(job.WasSent<protocol::Admitted>(3));
  }
}

}  // namespace
}  // namespace paceline::coordination
