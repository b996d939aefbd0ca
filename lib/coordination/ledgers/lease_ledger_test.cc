#include "lib/coordination/ledgers/lease_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

using protocol::Lease;
using protocol::SampleRange;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WorkerId kW0{0}, kW1{1};

LeaseLedger::Count Only(const LeaseLedger& ledger) { return ledger.counts().back(); }

void Finish(LeaseLedger& ledger, const Lease& lease) {
  ledger.Accumulate(lease.id);
  ledger.Commit(lease.id);
}

TEST(IntervalSetTest, NeighboursAreJoinedAndTheLowestIsTakenFirst) {
  IntervalSet set;
  set.Add(10, 20);
  set.Add(0, 5);
  set.Add(5, 10);
  EXPECT_EQ(set.intervals(), (std::map<uint64_t, uint64_t>{{0, 20}}));
  EXPECT_EQ(set.TakeFront(7), (std::pair<uint64_t, uint64_t>{0, 7}));
  EXPECT_EQ(set.size(), 13u);
  set.Add(3, 3);
  EXPECT_EQ(set.TakeFront(100), (std::pair<uint64_t, uint64_t>{7, 20}));
  EXPECT_TRUE(set.empty());
}

TEST(IntervalSetTest, OverlapsAtTheEdges) {
  IntervalSet set;
  set.Add(5, 10);
  EXPECT_FALSE(set.Overlaps(0, 5));
  EXPECT_FALSE(set.Overlaps(10, 12));
  EXPECT_FALSE(set.Overlaps(7, 7));
  EXPECT_TRUE(set.Overlaps(4, 6));
  EXPECT_TRUE(set.Overlaps(9, 20));
  EXPECT_DEATH(set.Add(9, 11), "partly there");
}

TEST(IntervalSetTest, TakesFromTheMiddleAndSaysWhatItContains) {
  IntervalSet set;
  set.Add(0, 10);
  EXPECT_TRUE(set.Contains(0, 10));
  EXPECT_TRUE(set.Contains(3, 3));
  EXPECT_FALSE(set.Contains(9, 11));
  set.Take(3, 5);
  EXPECT_EQ(set.intervals(), (std::map<uint64_t, uint64_t>{{0, 3}, {5, 10}}));
  EXPECT_EQ(set.size(), 8u);
  EXPECT_FALSE(set.Contains(2, 6));
  set.Take(5, 10);
  set.Take(0, 1);
  EXPECT_EQ(set.intervals(), (std::map<uint64_t, uint64_t>{{1, 3}}));
  EXPECT_DEATH(set.Take(2, 4), "is not there");
}

TEST(LeaseLedgerTest, LeaseReachesOverTheBorderOfTwoEpochs) {
  LeaseLedger ledger({10, 2});
  EXPECT_THAT(ledger.Grant(kW0, 7)->ranges, ElementsAre(SampleRange{0, 0, 7}));
  EXPECT_THAT(ledger.Grant(kW0, 7)->ranges,
              ElementsAre(SampleRange{0, 7, 10}, SampleRange{1, 0, 4}));
  EXPECT_THAT(ledger.Grant(kW0, 7)->ranges, ElementsAre(SampleRange{1, 4, 10}));
  EXPECT_FALSE(ledger.Grant(kW0, 1).has_value());
  EXPECT_TRUE(ledger.Check().ok());
}

TEST(LeaseLedgerTest, ThirdEpochOpensWhenTheFirstIsComplete) {
  LeaseLedger ledger({4, 0});
  const Lease first = *ledger.Grant(kW0, 4), second = *ledger.Grant(kW1, 4);
  EXPECT_FALSE(ledger.Grant(kW0, 4).has_value());
  Finish(ledger, second);
  EXPECT_FALSE(ledger.Grant(kW0, 4).has_value());
  EXPECT_THAT(ledger.TakeCompleted(), IsEmpty());
  Finish(ledger, first);
  EXPECT_THAT(ledger.TakeCompleted(), ElementsAre(0, 1));
  EXPECT_THAT(ledger.TakeCompleted(), IsEmpty());
  EXPECT_EQ(ledger.Grant(kW0, 4)->ranges.front().epoch, 2u);
}

TEST(LeaseLedgerTest, ReturnedSamplesComeFirst) {
  LeaseLedger ledger({10, 1});
  const Lease first = *ledger.Grant(kW0, 4);
  ledger.Grant(kW1, 2);
  ledger.Return(first.id);
  EXPECT_THAT(ledger.Grant(kW1, 6)->ranges,
              ElementsAre(SampleRange{0, 0, 4}, SampleRange{0, 6, 8}));
  EXPECT_TRUE(ledger.Check().ok());
}

// Fresh ones for whoever was late, over epochs; else, or where there are none, what came back.
TEST(LeaseLedgerTest, OvertakenSamplesAreForWhoIsInTime) {
  LeaseLedger ledger({10, 2});
  const Lease late = *ledger.Grant(kW0, 4);
  ledger.Overtake(late.id);
  EXPECT_TRUE(ledger.IsHeld(kW0, late.id));
  ledger.Return(late.id);
  EXPECT_TRUE(ledger.IsLate(kW0));
  const Lease other = *ledger.Grant(kW0, 8);
  EXPECT_THAT(other.ranges, ElementsAre(SampleRange{0, 4, 10}, SampleRange{1, 0, 2}));
  ledger.Grant(kW1, 2);
  EXPECT_THAT(ledger.Grant(kW0, 20)->ranges, ElementsAre(SampleRange{1, 2, 10}));
  EXPECT_FALSE(ledger.Grant(kW0, 1, {}, {}, true).has_value());
  EXPECT_THAT(ledger.Grant(kW0, 1)->ranges, ElementsAre(SampleRange{0, 2, 3}));
  EXPECT_THAT(ledger.Grant(kW1, 1)->ranges, ElementsAre(SampleRange{0, 3, 4}));
  EXPECT_TRUE(ledger.Check().ok());
  ledger.Accumulate(other.id);
  EXPECT_FALSE(ledger.IsLate(kW0));
  ledger.Overtake(other.id);  // It counts already.
  EXPECT_FALSE(ledger.IsLate(kW0));
}

// Who was late takes a suspect that is for it, and none in the place of what it leaves to others.
TEST(LeaseLedgerTest, WhatIsLeftToOthersMakesASuspectNotTheLast) {
  LeaseLedger ledger({8, 1});
  const Lease ill = *ledger.Grant(kW0, 4), late = *ledger.Grant(kW0, 4);
  ledger.Accuse(ill.id, kW0, Suspects::Word::kNotYet);
  ledger.Overtake(late.id);
  ledger.Return(ill.id);
  ledger.Return(late.id);
  EXPECT_FALSE(ledger.Grant(kW0, 4, {kW0}, {}, true).has_value());
  EXPECT_THAT(ledger.Grant(kW0, 4, {kW0})->ranges, ElementsAre(SampleRange{0, 4, 8}));
  // There is nothing more to leave.
  EXPECT_THAT(ledger.Grant(kW0, 4, {kW0}, {}, true)->ranges, ElementsAre(SampleRange{0, 0, 4}));
}

TEST(LeaseLedgerTest, AccumulatedSamplesOutliveTheirWorker) {
  LeaseLedger ledger({10, 1});
  const Lease used = *ledger.Grant(kW0, 4), open = *ledger.Grant(kW0, 4);
  ledger.Accumulate(used.id);
  ledger.ReturnAllOf(kW0);
  EXPECT_EQ(Only(ledger).accumulated, 4u);
  EXPECT_EQ(Only(ledger).leased, 0u);
  EXPECT_EQ(Only(ledger).free, 6u);
  ledger.Return(used.id);
  ledger.Discard(used.id);
  EXPECT_EQ(Only(ledger).accumulated, 4u);
  EXPECT_FALSE(ledger.IsHeld(kW0, used.id));
  EXPECT_FALSE(ledger.IsHeld(kW0, open.id));
  ledger.Commit(used.id);
  EXPECT_EQ(Only(ledger).committed, 4u);
  EXPECT_TRUE(ledger.Check().ok());
}

TEST(LeaseLedgerTest, SkippedSamplesAreCommittedAndCountedByEpoch) {
  LeaseLedger ledger({10, 2});
  const auto commit = [&](uint64_t samples, uint64_t skipped) {
    const Lease lease = *ledger.Grant(kW0, samples);
    ledger.Accumulate(lease.id);
    ledger.Commit(lease.id, skipped);
  };
  commit(8, 8);
  EXPECT_EQ(Only(ledger).committed, 8u);
  EXPECT_EQ(Only(ledger).skipped, 8u);
  commit(4, 3);  // Two of either epoch.
  EXPECT_TRUE(ledger.IsAllSkipped(0));
  EXPECT_FALSE(ledger.IsAllSkipped(1)) << "it is open";
  EXPECT_EQ(Only(ledger).skipped, 1u);
  EXPECT_EQ(ledger.skipped(), 11u);
  const Lease last = *ledger.Grant(kW0, 8);
  ledger.Accumulate(last.id);
  const LeaseLedger::Saved saved = ledger.Save({{last.id, 5}});
  EXPECT_EQ(saved.complete[0].skipped, 10u);
  EXPECT_EQ(saved.complete[1].skipped, 6u);
  const LeaseLedger restored = *LeaseLedger::Restore({10, 2}, saved);
  EXPECT_EQ(restored.skipped(), 16u);
  EXPECT_FALSE(restored.IsAllSkipped(1));
  const LeaseLedger open = *LeaseLedger::Restore({10, 2}, ledger.Save({}));
  EXPECT_EQ(open.skipped(), 11u);
}

TEST(LeaseLedgerTest, CommitWithoutAccumulateAndUnknownLeasesChangeNothing) {
  LeaseLedger ledger({4, 1});
  const Lease lease = *ledger.Grant(kW0, 2);
  const std::string before = ledger.Describe();
  ledger.Commit(lease.id);
  for (const protocol::LeaseId unknown : {protocol::LeaseId(0), protocol::LeaseId(99)}) {
    ledger.Accumulate(unknown);
    ledger.Commit(unknown);
    ledger.Return(unknown);
    ledger.Discard(unknown);
    EXPECT_EQ(ledger.size(unknown), 0u);
  }
  EXPECT_EQ(ledger.Describe(), before);
  EXPECT_TRUE(ledger.IsHeld(kW0, lease.id));
  EXPECT_FALSE(ledger.IsHeld(kW1, lease.id));
}

TEST(LeaseLedgerTest, DiscardedSamplesCompleteAnEpoch) {
  LeaseLedger ledger({4, 1});
  const Lease dropped = *ledger.Grant(kW0, 1), rest = *ledger.Grant(kW0, 3);
  ledger.Discard(dropped.id);
  EXPECT_FALSE(ledger.is_complete());
  Finish(ledger, rest);
  EXPECT_TRUE(ledger.is_complete());
  EXPECT_EQ(Only(ledger).committed, 3u);
  EXPECT_EQ(Only(ledger).discarded, 1u);
}

TEST(LeaseLedgerTest, MillionsOfSamplesStayAFewIntervals) {
  LeaseLedger ledger({5'000'000, 2});
  while (const auto lease = ledger.Grant(kW0, 64)) Finish(ledger, *lease);
  EXPECT_TRUE(ledger.is_complete());
  EXPECT_THAT(ledger.TakeCompleted(), ElementsAre(0, 1));
  EXPECT_TRUE(ledger.Check().ok());
}

TEST(LeaseLedgerTest, BeyondFewerEpochsNothingIsLeasedAnyMore) {
  LeaseLedger ledger({4, 4, 7});
  const Lease first = *ledger.Grant(WorkerId(0), 4);
  const Lease beyond = *ledger.Grant(WorkerId(1), 2);  // Of the next epoch.
  ledger.SetEpochsMax(1);
  EXPECT_FALSE(ledger.Grant(WorkerId(0), 2).has_value());
  ledger.Accumulate(first.id);
  ledger.Commit(first.id);
  EXPECT_TRUE(ledger.is_complete());
  ledger.Return(beyond.id);
  EXPECT_TRUE(ledger.Check().ok()) << ledger.Check();
  ledger.SetEpochsMax(2);
  EXPECT_FALSE(ledger.is_complete());
  EXPECT_TRUE(ledger.Grant(WorkerId(0), 4).has_value());
}

}  // namespace
}  // namespace paceline::coordination
