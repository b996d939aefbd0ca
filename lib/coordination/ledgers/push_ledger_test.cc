#include "lib/coordination/ledgers/push_ledger.h"

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

using Arrival = PushLedger::Arrival;

const WorkerId kW0{0}, kW1{1};

store::PushId Id(uint64_t incarnation, uint64_t sequence, WorkerId worker = kW0) {
  return {worker, Incarnation(incarnation), Sequence(sequence)};
}

Push Of(const store::PushId& id) {
  Push push;
  push.id = id;
  push.samples = 4;
  push.leases = {protocol::LeaseId(10 * id.worker.value() + id.sequence.value())};
  return push;
}

TEST(PushLedgerTest, Arrivals) {
  struct Case {
    const char* name;
    store::PushId id;
    Arrival want;
  };
  PushLedger ledger;
  ledger.Begin(kW0, Incarnation(2));
  ledger.Arrive(Of(Id(2, 1)));
  ledger.Arrive(Of(Id(2, 2)));
  for (const Case& c : std::vector<Case>{{"next", Id(2, 3), Arrival::kNew},
                                         {"the newest again", Id(2, 2), Arrival::kDuplicate},
                                         {"an older one", Id(2, 1), Arrival::kOutOfOrder},
                                         {"none", Id(2, 0), Arrival::kOutOfOrder},
                                         {"a gap", Id(2, 4), Arrival::kOutOfOrder},
                                         {"earlier life", Id(1, 3), Arrival::kFenced},
                                         {"life to come", Id(3, 1), Arrival::kFenced},
                                         {"unknown worker", Id(1, 1, kW1), Arrival::kFenced}}) {
    EXPECT_EQ(ledger.Judge(c.id), c.want) << c.name;
  }
}

TEST(PushLedgerTest, WithoutGradientIsWhatNoneHad) {
  const auto of = [](std::vector<std::vector<uint32_t>> marks) {
    std::vector<Push> pushes;
    for (std::vector<uint32_t>& mark : marks) pushes.emplace_back().without_gradient = mark;
    return WithoutGradient(pushes);
  };
  using Tensors = std::vector<uint32_t>;
  EXPECT_EQ(of({}), Tensors());
  EXPECT_EQ(of({{1, 4}}), (Tensors{1, 4}));
  EXPECT_EQ(of({{1, 4, 7}, {0, 1, 7}, {1, 3, 4, 7}}), (Tensors{1, 7}));
  EXPECT_EQ(of({{1, 4}, {}}), Tensors()) << "one that says nothing had all";
  EXPECT_EQ(of({{}, {1, 4}}), Tensors());
}

TEST(PushLedgerTest, NoSequenceBeforeTheFirstIsADuplicate) {
  PushLedger ledger;
  ledger.Begin(kW0, Incarnation(1));
  EXPECT_EQ(ledger.Judge(Id(1, 0)), Arrival::kOutOfOrder);
  EXPECT_EQ(ledger.Judge(Id(1, 1)), Arrival::kNew);
}

TEST(PushLedgerTest, TheStepInWorkIsAfterWhatCameOrWasAbandoned) {
  PushLedger ledger;
  EXPECT_EQ(ledger.Running(kW0), std::nullopt);
  ledger.Begin(kW0, Incarnation(1));
  EXPECT_EQ(ledger.Running(kW0), Sequence(1));
  ledger.Arrive(Of(Id(1, 1)));
  EXPECT_EQ(ledger.Running(kW0), Sequence(2));
  EXPECT_TRUE(ledger.Abandon(Id(1, 2)));
  EXPECT_EQ(ledger.Running(kW0), Sequence(3));
  ledger.Fence(kW0);
  EXPECT_EQ(ledger.Running(kW0), std::nullopt);
  ledger.Begin(kW0, Incarnation(2));
  EXPECT_EQ(ledger.Running(kW0), Sequence(1));
}

TEST(PushLedgerTest, AnAbandonedSequenceMayBeUsedOrSkipped) {
  PushLedger ledger;
  ledger.Begin(kW0, Incarnation(1));
  EXPECT_TRUE(ledger.Abandon(Id(1, 1)));
  EXPECT_EQ(ledger.Judge(Id(1, 1)), Arrival::kNew);
  EXPECT_EQ(ledger.Judge(Id(1, 2)), Arrival::kNew);
  EXPECT_EQ(ledger.Judge(Id(1, 3)), Arrival::kOutOfOrder);
  EXPECT_FALSE(ledger.Abandon(Id(1, 3)));
}

TEST(PushLedgerTest, FenceDropsWhatIsStagedAndKeepsWhatIsInTheSum) {
  PushLedger ledger;
  ledger.Begin(kW0, Incarnation(1));
  ledger.Begin(kW1, Incarnation(1));
  ledger.Arrive(Of(Id(1, 1)));
  ledger.Arrive(Of(Id(1, 2)));
  ledger.Arrive(Of(Id(1, 1, kW1)));
  EXPECT_EQ(ledger.Accumulate(kW0, Sequence(1), 4)->weight, 4);
  const std::vector<Push> left = ledger.Fence(kW0);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].id, Id(1, 2));
  EXPECT_EQ(ledger.Judge(Id(1, 3)), Arrival::kFenced);
  EXPECT_EQ(ledger.open_sum().size(), 1u);
  // The next life's first push is not the old life's.
  ledger.Begin(kW0, Incarnation(2));
  ledger.Arrive(Of(Id(2, 1)));
  EXPECT_NE(ledger.Accumulate(kW0, Sequence(1), 1), nullptr);
  EXPECT_EQ(ledger.Close(Version(1)).size(), 2u);
  ledger.Publish(Version(1));
  EXPECT_FALSE(ledger.is_idle());
  EXPECT_EQ(ledger.Fence(kW1).size(), 1u);
  EXPECT_TRUE(ledger.is_idle());
  ledger.Begin(kW1, Incarnation(2));
  ledger.Arrive(Of(Id(2, 1, kW1)));
  ledger.ForgetUnpublished();
  EXPECT_TRUE(ledger.is_idle());
}

// The policy has weighed a push by all samples of its leases, and divides by those of all pushes.
TEST(PushLedgerTest, AGradientCountsByTheSamplesThatItIsOf) {
  const auto scale = [](uint32_t skipped, uint32_t skipped_too, PushKind kind) {
    PushLedger ledger;
    ledger.Begin(kW0, Incarnation(1));
    ledger.Begin(kW1, Incarnation(1));
    Push one = Of(Id(1, 1)), other = Of(Id(1, 1, kW1));
    one.samples = other.samples = 4;
    one.skipped = skipped;
    other.skipped = skipped_too;
    ledger.Arrive(one);
    ledger.Arrive(other);
    const double weight = ledger.Accumulate(kW0, Sequence(1), 4, kind)->weight;
    ledger.Accumulate(kW1, Sequence(1), 4, kind);
    return std::pair(weight, ScaleForSkipped(ledger.Close(Version(1))));
  };
  using Pair = std::pair<double, double>;
  EXPECT_EQ(scale(0, 0, PushKind::kGradient), Pair(4, 1));
  EXPECT_EQ(scale(3, 0, PushKind::kGradient), Pair(1, 8.0 / 5));
  EXPECT_EQ(scale(4, 2, PushKind::kGradient), Pair(0, 4));
  EXPECT_EQ(scale(4, 4, PushKind::kGradient), Pair(0, 1));
  EXPECT_EQ(scale(3, 0, PushKind::kDelta), Pair(4, 1)) << "a delta is what its steps came to";
}

TEST(PushLedgerTest, WhatIsSkippedIsOfTheFirstLeases) {
  LeaseLedger leases({10, 1});
  Push push = Of(Id(1, 1));
  push.leases = {leases.Grant(kW0, 4)->id, leases.Grant(kW0, 2)->id};
  push.samples = 6;
  push.skipped = 5;
  EXPECT_EQ(SkippedOf(leases, push), (std::vector<std::pair<protocol::LeaseId, uint64_t>>{
                                         {push.leases[0], 4}, {push.leases[1], 1}}));
}

TEST(PushLedgerTest, AnsweredOnce) {
  PushLedger ledger;
  ledger.Begin(kW0, Incarnation(1));
  ledger.Arrive(Of(Id(1, 1)));
  EXPECT_TRUE(ledger.Uses(kW0, protocol::LeaseId(1)));
  EXPECT_TRUE(ledger.Drop(kW0, Sequence(1)).has_value());
  EXPECT_FALSE(ledger.Uses(kW0, protocol::LeaseId(1)));
  EXPECT_FALSE(ledger.Drop(kW0, Sequence(1)).has_value());
  EXPECT_EQ(ledger.Accumulate(kW0, Sequence(1), 1), nullptr);
  EXPECT_EQ(ledger.Judge(Id(1, 1)), Arrival::kDuplicate);
  EXPECT_TRUE(ledger.is_idle());
}

TEST(PushLedgerTest, VersionsAreTakenOutOnce) {
  PushLedger ledger;
  ledger.Begin(kW0, Incarnation(1));
  ledger.Arrive(Of(Id(1, 1)));
  ledger.Accumulate(kW0, Sequence(1), 1);
  ledger.Close(Version(1));
  EXPECT_FALSE(ledger.is_idle());
  EXPECT_EQ(ledger.Publish(Version(1)).size(), 1u);
  EXPECT_TRUE(ledger.Publish(Version(1)).empty());
  EXPECT_TRUE(ledger.is_idle());
}

}  // namespace
}  // namespace paceline::coordination
