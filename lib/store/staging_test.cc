#include "lib/store/staging.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/shard_testing.h"

namespace paceline::store {
namespace {

using testing::Push;

// Its receipts hold the first byte of the push, so that one can see which bytes were judged.
StagingArea::Options AreaOptions(uint32_t slots_per_worker) {
  StagingArea::Options options;
  options.slice_bytes = 8;
  options.slots_per_worker = slots_per_worker;
  options.workers_max = 3;
  options.judge = [](std::span<const std::byte> push) {
    return Receipt{{static_cast<double>(push[0])}, true};
  };
  return options;
}

void Write(const Staging& staging, int value) {
  std::fill(staging.bytes.begin(), staging.bytes.end(), static_cast<std::byte>(value));
}

// The first byte of the sealed push, or -1 if there is none.
int Staged(StagingArea& area, const PushId& id) {
  const auto bytes = area.Begin(id);
  if (bytes == nullptr) return -1;
  const int value = std::to_integer<int>(bytes->bytes().front());
  area.Finish(id);
  return value;
}

void StageWhole(StagingArea& area, const PushId& id, int value) {
  const Staging staging = area.Stage(id).value();
  Write(staging, value);
  ASSERT_TRUE(area.Seal(id, staging.ticket).ok());
}

StatusCode StageCode(StagingArea& area, const PushId& id) { return area.Stage(id).status().code(); }

TEST(StagingTest, ARetryGetsTheFirstAnswerWhereverThePushIs) {
  StagingArea area(AreaOptions(1));
  const Staging staging = area.Stage(Push(0, 1)).value();
  Write(staging, 7);
  const auto first = area.Seal(Push(0, 1), staging.ticket).value();
  EXPECT_EQ(first->block_squared_norms, std::vector<double>{7});
  EXPECT_EQ(area.Stage(Push(0, 1))->sealed, first) << "sealed";
  EXPECT_TRUE(area.Stage(Push(0, 1))->bytes.empty());
  EXPECT_EQ(area.Seal(Push(0, 1), staging.ticket).value(), first);
  const auto in_use = area.Begin(Push(0, 1));
  EXPECT_EQ(area.Stage(Push(0, 1))->sealed, first) << "in use";
  area.Finish(Push(0, 1));
  EXPECT_EQ(area.Stage(Push(0, 1))->sealed, first) << "accumulated";
  EXPECT_EQ(area.Seal(Push(0, 1), staging.ticket).value(), first);
}

TEST(StagingTest, ANewerTransferOfTheSamePushTakesOver) {
  StagingArea area(AreaOptions(1));
  const Staging old = area.Stage(Push(0, 1)).value();
  const Staging newer = area.Stage(Push(0, 1)).value();
  EXPECT_NE(old.bytes.data(), newer.bytes.data());
  Write(newer, 2);
  Write(old, 1);
  EXPECT_EQ(area.Seal(Push(0, 1), old.ticket).status().code(), StatusCode::kAborted);
  EXPECT_TRUE(area.Seal(Push(0, 1), newer.ticket).ok());
  Write(old, 1);
  EXPECT_EQ(Staged(area, Push(0, 1)), 2);
}

TEST(StagingTest, ALateTransferOfAnOldIncarnationHarmsNobody) {
  StagingArea area(AreaOptions(1));
  const Staging old = area.Stage(Push(0, 9, 1)).value();
  const Staging newer = area.Stage(Push(0, 1, 2)).value();
  Write(newer, 2);
  Write(old, 1);
  EXPECT_EQ(area.Seal(Push(0, 9, 1), old.ticket).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(StageCode(area, Push(0, 10, 1)), StatusCode::kPermissionDenied);
  ASSERT_TRUE(area.Seal(Push(0, 1, 2), newer.ticket).ok());
  EXPECT_EQ(Staged(area, Push(0, 9, 1)), -1);
  EXPECT_EQ(Staged(area, Push(0, 1, 2)), 2);
}

TEST(StagingTest, ANewIncarnationFreesWhatIsNotInUse) {
  StagingArea area(AreaOptions(2));
  StageWhole(area, Push(0, 1, 1), 1);
  StageWhole(area, Push(0, 2, 1), 2);
  const auto in_use = area.Begin(Push(0, 1, 1));
  StageWhole(area, Push(0, 1, 2), 3);
  EXPECT_EQ(StageCode(area, Push(0, 2, 2)), StatusCode::kResourceExhausted);
  EXPECT_EQ(in_use->bytes().front(), std::byte{1});
  EXPECT_EQ(area.Begin(Push(0, 2, 1)), nullptr);
  area.Finish(Push(0, 1, 1));
  StageWhole(area, Push(0, 2, 2), 4);
  EXPECT_EQ(Staged(area, Push(0, 1, 2)), 3);
  EXPECT_EQ(Staged(area, Push(0, 2, 2)), 4);
}

TEST(StagingTest, SlotsAreRefusedWhileAllHoldUnansweredPushes) {
  StagingArea area(AreaOptions(2));
  StageWhole(area, Push(0, 1), 1);
  StageWhole(area, Push(0, 2), 2);
  EXPECT_EQ(StageCode(area, Push(0, 3)), StatusCode::kResourceExhausted);
  EXPECT_EQ(StageCode(area, Push(1, 1)), StatusCode::kOk) << "another worker's slots are its own";
  area.Drop(Push(0, 2));
  StageWhole(area, Push(0, 3), 3);
  EXPECT_EQ(Staged(area, Push(0, 1)), 1);
  EXPECT_EQ(Staged(area, Push(0, 2)), -1);
  EXPECT_EQ(Staged(area, Push(0, 3)), 3);
}

TEST(StagingTest, AnUnfinishedTransferGivesWayToALaterPush) {
  StagingArea area(AreaOptions(1));
  const Staging given_up = area.Stage(Push(0, 1)).value();
  StageWhole(area, Push(0, 2), 2);
  Write(given_up, 1);
  EXPECT_EQ(area.Seal(Push(0, 1), given_up.ticket).status().code(), StatusCode::kAborted);
  EXPECT_EQ(StageCode(area, Push(0, 1)), StatusCode::kResourceExhausted)
      << "not the other way round";
  EXPECT_EQ(Staged(area, Push(0, 2)), 2);
}

TEST(StagingTest, APushAnsweredLongAgoTakesNoSlot) {
  StagingArea area(AreaOptions(1));
  for (uint64_t sequence = 1; sequence <= 4; ++sequence) {
    StageWhole(area, Push(0, sequence), 1);
    ASSERT_EQ(Staged(area, Push(0, sequence)), 1);
  }
  EXPECT_EQ(StageCode(area, Push(0, 1)), StatusCode::kFailedPrecondition);
  EXPECT_NE(area.Stage(Push(0, 3))->sealed, nullptr);
}

TEST(StagingTest, DropEndsATransferThatRuns) {
  StagingArea area(AreaOptions(1));
  const Staging dropped = area.Stage(Push(0, 1)).value();
  area.Drop(Push(0, 1));
  StageWhole(area, Push(0, 2), 2);
  Write(dropped, 1);
  EXPECT_EQ(area.Seal(Push(0, 1), dropped.ticket).status().code(), StatusCode::kAborted);
  EXPECT_EQ(Staged(area, Push(0, 2)), 2);
  area.Drop(Push(0, 77));
  area.Drop(Push(77, 1));
}

TEST(StagingTest, WorkersBeyondTheMostAreRefusedUntilOneIsForgotten) {
  StagingArea area(AreaOptions(1));
  for (uint64_t worker : {0, 1, 2}) StageWhole(area, Push(worker, 1), 1);
  EXPECT_EQ(StageCode(area, Push(3, 1)), StatusCode::kOutOfRange);
  area.Forget(WorkerId(1), Incarnation(1));
  EXPECT_EQ(StageCode(area, Push(3, 1)), StatusCode::kOk);
  EXPECT_EQ(area.Begin(Push(1, 1)), nullptr);
  EXPECT_EQ(StageCode(area, Push(1, 1, 0)), StatusCode::kPermissionDenied)
      << "fencing outlives Forget";
  area.Forget(WorkerId(99), Incarnation(1));
}

TEST(StagingTest, ForgettingALifeLeavesTheNextOneAlone) {
  StagingArea area(AreaOptions(1));
  StageWhole(area, Push(0, 1, 1), 1);
  StageWhole(area, Push(0, 1, 2), 5);
  area.Forget(WorkerId(0), Incarnation(1));
  EXPECT_EQ(Staged(area, Push(0, 1, 2)), 5);
  area.Forget(WorkerId(0), Incarnation(2));
  EXPECT_EQ(area.Begin(Push(0, 1, 2)), nullptr);
}

TEST(StagingTest, SlotsAreReusedAndNotAllocatedAnew) {
  StagingArea area(AreaOptions(1));
  std::set<const std::byte*> places;
  for (uint64_t sequence = 1; sequence <= 20; ++sequence) {
    const Staging staging = area.Stage(Push(0, sequence)).value();
    places.insert(staging.bytes.data());
    ASSERT_TRUE(area.Seal(Push(0, sequence), staging.ticket).ok());
    ASSERT_NE(Staged(area, Push(0, sequence)), -1);
  }
  EXPECT_EQ(places.size(), 1u);
}

// A sender's own memory: eight bytes that it can reach.
std::shared_ptr<const PushMemory> Own() {
  return std::make_shared<const PushMemory>(
      [] { return StatusOr<std::shared_ptr<Region>>(Region::Private(8)); });
}

TEST(StagingTest, ASendersOwnMemoryIsUsedAgainAndByNobodyElse) {
  StagingArea area(AreaOptions(1));
  const auto first = Own(), second = Own();
  const Staging one = area.Stage(Push(0, 1), first).value();
  const Region* const place = one.lease.get();
  Write(one, 1);
  ASSERT_TRUE(area.Seal(Push(0, 1), one.ticket).ok());
  ASSERT_EQ(Staged(area, Push(0, 1)), 1);
  EXPECT_EQ(area.Stage(Push(0, 2), first)->lease.get(), place);
  EXPECT_EQ(area.Stage(Push(0, 3), first)->lease.get(), place) << "it gave the second up";
  // Another life's, another way's: neither may lie where the first sender can still write.
  EXPECT_NE(area.Stage(Push(0, 1, 2), second)->lease.get(), place);
  area.Drop(Push(0, 1, 2));
  EXPECT_NE(area.Stage(Push(0, 2, 2))->lease.get(), place);
  const Staging back = area.Stage(Push(0, 3, 2), first).value();
  EXPECT_NE(back.lease.get(), place) << "it was given up";
}

TEST(StagingTest, APushThatIsBeingSummedKeepsItsMemory) {
  StagingArea area(AreaOptions(1));
  const auto memory = Own();
  StageWhole(area, Push(0, 1), 1);
  const auto in_use = area.Begin(Push(0, 1));
  EXPECT_EQ(area.Stage(Push(0, 2), memory).status().code(), StatusCode::kResourceExhausted);
  area.Finish(Push(0, 1));
  const Staging next = area.Stage(Push(0, 2), memory).value();
  EXPECT_NE(next.lease.get(), in_use.get());
}

TEST(StagingTest, WithoutMemoryTheRefusalIsTheSenders) {
  StagingArea area(AreaOptions(1));
  const auto none = std::make_shared<const PushMemory>(
      []() -> StatusOr<std::shared_ptr<Region>> { return ResourceExhausted("no shared memory"); });
  EXPECT_EQ(area.Stage(Push(0, 1), none).status().code(), StatusCode::kResourceExhausted);
  StageWhole(area, Push(0, 1), 3);
  EXPECT_EQ(Staged(area, Push(0, 1)), 3);
}

}  // namespace
}  // namespace paceline::store
