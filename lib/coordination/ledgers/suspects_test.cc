#include "lib/coordination/ledgers/suspects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/coordination/ledgers/lease_ledger.h"

namespace paceline::coordination {
namespace {

using protocol::Lease;
using protocol::LeaseId;
using protocol::SampleRange;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WorkerId kW0{0}, kW1{1}, kW2{2};
const std::vector<WorkerId> kBoth{kW0, kW1};
constexpr Suspects::Word kCounts = Suspects::Word::kCounts, kNotYet = Suspects::Word::kNotYet;

// Two workers take leases in turn until the epochs are over; `is_deadly` samples end every process
// that computes them. Returns how many processes died.
int TrainWith(LeaseLedger& ledger, const std::set<uint64_t>& poisoned_positions, uint64_t samples,
              std::vector<PoisonedSample>& found) {
  int deaths = 0;
  for (int turn = 0; turn < 10000 && !ledger.is_complete(); ++turn) {
    const WorkerId worker = kBoth[static_cast<size_t>(turn) % 2];
    const auto lease = ledger.Grant(worker, samples, kBoth);
    for (const PoisonedSample& one : ledger.TakePoisoned()) found.push_back(one);
    if (!lease) continue;
    EXPECT_TRUE(ledger.Check().ok()) << ledger.Check();
    bool is_deadly = false;
    for (const SampleRange& range : lease->ranges) {
      for (uint64_t at = range.begin; at < range.end; ++at)
        is_deadly = is_deadly || (range.epoch == 0 && poisoned_positions.contains(at));
    }
    if (is_deadly) {
      ++deaths;
      ledger.Accuse(lease->id, worker, kCounts);
      ledger.Return(lease->id);
    } else {
      ledger.Accumulate(lease->id);
      ledger.Commit(lease->id);
    }
  }
  return deaths;
}

TEST(SuspectsTest, ASampleThatKillsIsFoundAndLeftOutAndNoOther) {
  LeaseLedger ledger({256, 1, 7});
  std::vector<PoisonedSample> found;
  const int deaths = TrainWith(ledger, {137}, 64, found);
  EXPECT_TRUE(ledger.is_complete());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].position, 137u);
  EXPECT_EQ(ledger.counts()[0].discarded, 1u);
  EXPECT_EQ(ledger.counts()[0].committed, 255u);
  EXPECT_EQ(deaths, 4);  // Two for the range, one for the part, one for the sample.
}

TEST(SuspectsTest, SeveralInOneRangeAreFound) {
  LeaseLedger ledger({256, 1, 7});
  std::vector<PoisonedSample> found;
  TrainWith(ledger, {3, 4, 60, 200}, 64, found);
  EXPECT_TRUE(ledger.is_complete());
  EXPECT_EQ(found.size(), 4u);
  EXPECT_EQ(ledger.counts()[0].committed, 252u);
}

// It stands elsewhere in the next epoch, and is left out there before it makes anybody ill.
TEST(SuspectsTest, IsTheSameSampleInEveryEpoch) {
  LeaseLedger ledger({64, 3, 7});
  std::vector<PoisonedSample> found;
  TrainWith(ledger, {10}, 16, found);
  EXPECT_TRUE(ledger.is_complete());
  EXPECT_EQ(found.size(), 1u);
  for (const LeaseLedger::Count& count : ledger.counts()) EXPECT_EQ(count.discarded, 1u);
}

// The ledger does not know which sample stands where: those at the same position of other epochs
// are others.
TEST(SuspectsTest, WhatASamplerHasDrawnIsLeftOutAtItsPositionAlone) {
  LeaseLedger ledger({64, 3, 7, LeaseLedger::Order::kDrawn});
  std::vector<PoisonedSample> found;
  TrainWith(ledger, {10}, 16, found);
  EXPECT_TRUE(ledger.is_complete());
  EXPECT_THAT(found, ElementsAre(PoisonedSample{0, 10, 10, true}));
  std::vector<uint64_t> discarded;
  for (const LeaseLedger::Count& count : ledger.counts()) discarded.push_back(count.discarded);
  EXPECT_THAT(discarded, ElementsAre(1, 0, 0));
  LeaseLedger anew({64, 3, 7, LeaseLedger::Order::kDrawn});
  anew.Inherit(ledger);
  found.clear();
  EXPECT_EQ(TrainWith(anew, {10}, 16, found), 0) << "it is known";
  EXPECT_EQ(anew.counts()[0].discarded, 1u);
}

// Where it stands in the other open epoch, too: leased when it is found, or suspected there with
// others that are well.
TEST(SuspectsTest, WhatIsFoundInOneEpochIsLeftOutOfTheOtherOne) {
  for (const bool is_back : {false, true}) {
    LeaseLedger ledger({8, 2, 7});
    const Lease first = *ledger.Grant(kW0, 8, kBoth), second = *ledger.Grant(kW1, 8, kBoth);
    ledger.Accuse(second.id, kW1, kCounts);
    if (is_back) ledger.Return(second.id);
    ledger.Accuse(first.id, kW0, kCounts);
    ledger.Accuse(first.id, kW1, kCounts);
    ledger.Return(first.id);
    const Lease part = *ledger.Grant(kW0, 8, {kW0});
    ASSERT_THAT(part.ranges, ElementsAre(SampleRange{0, 0, 1}));
    ledger.Accuse(part.id, kW0, kCounts);
    ledger.Return(part.id);
    EXPECT_EQ(ledger.TakePoisoned().size(), 1u);
    if (!is_back) ledger.Return(second.id);
    std::vector<PoisonedSample> found;
    EXPECT_EQ(TrainWith(ledger, {}, 8, found), 0);
    EXPECT_THAT(found, IsEmpty());
    EXPECT_TRUE(ledger.is_complete());
    for (const LeaseLedger::Count& count : ledger.counts()) EXPECT_EQ(count.committed, 7u);
  }
}

TEST(SuspectsTest, OneWorkerThatDiesTwiceConvictsNothing) {
  Suspects suspects;
  const SampleRange range{0, 8, 16};
  suspects.Accuse(range, kW0, kCounts);
  suspects.Accuse(range, kW0, kCounts);
  EXPECT_FALSE(suspects.IsExcuse(range, kW0));
  EXPECT_TRUE(suspects.IsExcuse(range, kW1));
  const auto free = [](const SampleRange&) { return true; };
  EXPECT_THAT(suspects.Convict(free), IsEmpty());
  EXPECT_EQ(suspects.Describe(), "|suspects 0:8-16w0!");
  suspects.Acquit(range);
  EXPECT_TRUE(suspects.empty());
}

// A model that is ill, or a worker that is, makes every range ill: that is no range's fault.
TEST(SuspectsTest, AWorkerCountsForNothingUntilItHasMadeAFinitePush) {
  const auto free = [](const SampleRange&) { return true; };
  const SampleRange range{0, 5, 6};
  Suspects suspects;
  suspects.Accuse(range, kW0, kNotYet);
  suspects.Accuse(range, kW1, kNotYet);
  EXPECT_THAT(suspects.Convict(free), IsEmpty());
  EXPECT_FALSE(suspects.IsExcuse(range, kW2));
  suspects.Believe(kW2);
  EXPECT_THAT(suspects.Convict(free), IsEmpty());
  suspects.Believe(kW0);
  EXPECT_TRUE(suspects.IsExcuse(range, kW1));
  EXPECT_FALSE(suspects.IsExcuse(range, kW0));
  EXPECT_THAT(suspects.Convict(free), IsEmpty());
  suspects.Doubt(kW0);  // After all it was the model.
  suspects.Believe(kW1);
  EXPECT_THAT(suspects.Convict(free), IsEmpty());
  suspects.Believe(kW0);
  EXPECT_THAT(suspects.Convict(free), ElementsAre(range));
  EXPECT_TRUE(suspects.empty());
}

TEST(SuspectsTest, GoesToAnotherWorkerFirstAndBackToItsAccuserOnlyIfNobodyElseMayTry) {
  LeaseLedger ledger({16, 1, 7});
  const Lease first = *ledger.Grant(kW0, 4, kBoth);
  ledger.Accuse(first.id, kW0, kCounts);
  ledger.Return(first.id);
  EXPECT_THAT(ledger.Grant(kW0, 4, kBoth)->ranges, ElementsAre(SampleRange{0, 4, 8}));
  EXPECT_THAT(ledger.Grant(kW1, 4, kBoth)->ranges, ElementsAre(SampleRange{0, 0, 4}));
  EXPECT_THAT(ledger.Grant(kW1, 8, kBoth)->ranges, ElementsAre(SampleRange{0, 8, 16}));
  ledger.ReturnAllOf(kW1);
  EXPECT_THAT(ledger.Grant(kW0, 16, kBoth)->ranges, ElementsAre(SampleRange{0, 8, 16}));
  EXPECT_FALSE(ledger.Grant(kW0, 16, kBoth).has_value());  // The other one will try it.
  EXPECT_THAT(ledger.Grant(kW0, 2, {kW0})->ranges, ElementsAre(SampleRange{0, 0, 2}));
  EXPECT_THAT(ledger.Grant(kW1, 4, kBoth)->ranges, ElementsAre(SampleRange{0, 2, 4}));
  EXPECT_TRUE(ledger.Check().ok());
}

// Nor is it given anything before it has pushed that.
TEST(SuspectsTest, ASuspectIsComputedByAWorkerThatHasNothingElseToPush) {
  LeaseLedger ledger({16, 1, 7});
  const Lease first = *ledger.Grant(kW0, 4, kBoth);
  ledger.Accuse(first.id, kW0, kCounts);
  ledger.Return(first.id);
  const Lease other = *ledger.Grant(kW1, 4, kBoth, {LeaseId(77)});  // Of what is not suspected.
  EXPECT_THAT(other.ranges, ElementsAre(SampleRange{0, 4, 8}));
  const Lease suspect = *ledger.Grant(kW1, 4, kBoth, {});
  EXPECT_THAT(suspect.ranges, ElementsAre(SampleRange{0, 0, 4}));
  EXPECT_FALSE(ledger.Grant(kW1, 4, kBoth, {suspect.id}).has_value());
  EXPECT_TRUE(ledger.Grant(kW0, 8, kBoth, {}).has_value());
  ledger.Return(suspect.id);
  EXPECT_FALSE(ledger.Grant(kW1, 4, kBoth, {other.id}).has_value());  // Not even the last thing.
  EXPECT_TRUE(ledger.Grant(kW1, 4, kBoth, {}).has_value());
}

// Two words of a range convict none of its pieces: each is a part that needs one word of its own.
TEST(SuspectsTest, WhatWasSaidOfARangeConvictsNoPieceOfIt) {
  LeaseLedger ledger({8, 1, 7});
  const Lease first = *ledger.Grant(kW0, 8, kBoth);
  ledger.Accuse(first.id, kW0, kNotYet);
  ledger.Accuse(first.id, kW1, kNotYet);
  ledger.Return(first.id);
  const Lease piece = *ledger.Grant(kW2, 1, {kW2});  // By a worker whose batches are smaller.
  ASSERT_THAT(piece.ranges, ElementsAre(SampleRange{0, 0, 1}));
  ledger.Believe(kW0);
  ledger.Believe(kW1);
  ledger.Return(piece.id);
  EXPECT_THAT(ledger.TakePoisoned(), IsEmpty());
  const Lease again = *ledger.Grant(kW2, 8, {kW2});
  ASSERT_THAT(again.ranges, ElementsAre(SampleRange{0, 0, 1}));
  ledger.Accuse(again.id, kW2, kCounts);
  ledger.Return(again.id);
  EXPECT_EQ(ledger.TakePoisoned().size(), 1u);
  EXPECT_EQ(ledger.counts()[0].discarded, 1u);
}

// Where nothing else is left there is no such push: others try it, and two words convict.
TEST(SuspectsTest, WhereNothingElseIsLeftAWordUnlessTheModelIsIllIsEnough) {
  LeaseLedger ledger({8, 1, 7});
  const auto accuse = [&](WorkerId worker, const Lease& lease) {
    ledger.Accuse(lease.id, worker, Suspects::Word::kUnlessModel);
    ledger.Return(lease.id);
  };
  const Lease first = *ledger.Grant(kW0, 1, kBoth);
  accuse(kW0, first);
  const Lease rest = *ledger.Grant(kW1, 8, kBoth);  // Something else is left.
  EXPECT_THAT(rest.ranges, ElementsAre(SampleRange{0, 1, 8}));
  ledger.Accumulate(rest.id);
  ledger.Commit(rest.id);
  EXPECT_FALSE(ledger.Grant(kW0, 1, kBoth).has_value());  // The other one is to try it.
  const Lease again = *ledger.Grant(kW1, 1, kBoth);
  EXPECT_THAT(again.ranges, ElementsAre(SampleRange{0, 0, 1}));
  EXPECT_TRUE(ledger.IsExcuse(again.id, kW1));
  EXPECT_THAT(ledger.TakePoisoned(), IsEmpty());
  accuse(kW1, again);
  EXPECT_EQ(ledger.TakePoisoned().size(), 1u);
  EXPECT_TRUE(ledger.is_complete());
}

// An ill push of another one would look like an ill model. Nobody waits for ever either.
TEST(SuspectsTest, GoesBackToItsAccuserUntilThatOneIsKnownToBeWell) {
  LeaseLedger ledger({8, 1, 7});
  const Lease first = *ledger.Grant(kW0, 8, kBoth);
  ledger.Accuse(first.id, kW0, kNotYet);
  ledger.Return(first.id);
  EXPECT_FALSE(ledger.Grant(kW1, 8, kBoth).has_value());
  EXPECT_THAT(ledger.Grant(kW0, 8, kBoth)->ranges, ElementsAre(SampleRange{0, 0, 8}));
  ledger.ReturnAllOf(kW0);
  EXPECT_THAT(ledger.Grant(kW1, 8, {kW1})->ranges, ElementsAre(SampleRange{0, 0, 8}));
  ledger.ReturnAllOf(kW1);
  ledger.Believe(kW0);
  EXPECT_FALSE(ledger.Grant(kW0, 8, kBoth).has_value());
  EXPECT_THAT(ledger.Grant(kW1, 8, kBoth)->ranges, ElementsAre(SampleRange{0, 0, 8}));
}

}  // namespace
}  // namespace paceline::coordination
