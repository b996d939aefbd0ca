// Pushes that are put in pieces, over each transport, against real shards.
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using testing::LayoutOf;
using testing::NameOf;
using testing::Payload;
using testing::RandomPayload;
using testing::Shards;
using testing::Transport;

store::PushId Push(uint64_t worker, uint64_t sequence) {
  return {WorkerId(worker), Incarnation(1), Sequence(sequence)};
}

class BegunPushTest : public ::testing::TestWithParam<Transport> {};

INSTANTIATE_TEST_SUITE_P(All, BegunPushTest,
                         ::testing::Values(Transport::kUnix, Transport::kTcp, Transport::kMemory),
                         [](const auto& info) { return NameOf(info.param); });

// Pieces in any order, cut anywhere and across shards, give what a whole push gives.
TEST_P(BegunPushTest, APushInPiecesIsThatPush) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 20; ++round) {
    Shards shards(GetParam(), LayoutOf(60'001), 2);
    const Payload payload = RandomPayload(shards.layout(), 10 + round);
    uint64_t bad_at = 0;
    if (round % 4 == 3) {
      const float bad = std::numeric_limits<float>::quiet_NaN();
      bad_at = 4 * (random() % (shards.layout().float_bytes() / 4));
      std::memcpy(payload->data() + bad_at, &bad, 4);
    }
    const Payload initial = RandomPayload(shards.layout(), 1);
    const auto client = shards.Born(initial);
    const auto whole = client->Push(Push(1, 1), *payload, payload);
    ASSERT_TRUE(whole.ok()) << whole.status();

    std::vector<uint64_t> cuts{0, payload->size()};
    for (int i = 0; i < 9; ++i) cuts.push_back(random() % (payload->size() / 4) * 4);
    std::ranges::sort(cuts);
    std::vector<size_t> order;
    for (size_t i = 1; i < cuts.size(); ++i) order.push_back(i);
    std::ranges::shuffle(order, random);
    const auto begun = client->BeginPush(Push(0, 1));
    ASSERT_NE(begun, nullptr);
    for (const size_t i : order)
      begun->Put(cuts[i - 1], std::span(*payload).subspan(cuts[i - 1], cuts[i] - cuts[i - 1]));
    const auto report = begun->Seal();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->is_finite, whole->is_finite);
    EXPECT_EQ(report->is_finite, round % 4 != 3);
    if (report->is_finite) {
      EXPECT_EQ(report->squared_norm, whole->squared_norm);
    } else {
      EXPECT_EQ(report->non_finite_at, bad_at);
    }
    shards.Commit(Version(1), {Push(0, 1)});
    std::vector<std::byte> once(payload->size()), again(payload->size());
    ASSERT_TRUE(client->Pull(Version(1), sync::Exactness::kExact, once).ok());
    if (!report->is_finite) continue;
    // The same payload pushed as a whole gives the same bits.
    Shards others(Transport::kUnix, LayoutOf(60'001), 2);
    const auto other = others.Born(initial);
    ASSERT_TRUE(other->Push(Push(0, 1), *payload, payload).ok());
    others.Commit(Version(1), {Push(0, 1)});
    ASSERT_TRUE(other->Pull(Version(1), sync::Exactness::kExact, again).ok());
    EXPECT_EQ(once, again);
  }
}

TEST_P(BegunPushTest, APushWithAGapOrAnOverlapIsNotSealed) {
  Shards shards(GetParam(), LayoutOf(60'000), 2);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(payload);
  const std::span<const std::byte> bytes(*payload);
  for (const auto& parts :
       std::vector<std::vector<std::pair<uint64_t, uint64_t>>>{{{0, bytes.size() - 4}},
                                                               {{0, 400}, {396, bytes.size()}},
                                                               {{4, bytes.size()}},
                                                               {{0, bytes.size()}, {0, 4}},
                                                               {}}) {
    const auto begun = client->BeginPush(Push(0, 1));
    ASSERT_NE(begun, nullptr);
    for (const auto& [begin, end] : parts) begun->Put(begin, bytes.subspan(begin, end - begin));
    EXPECT_EQ(begun->Seal().status().code(), StatusCode::kInvalidArgument);
  }
  // It never counted; the next one does.
  const auto whole = client->Push(Push(0, 2), *payload, payload);
  EXPECT_TRUE(whole.ok()) << whole.status();
  if (GetParam() == Transport::kMemory) {
    EXPECT_EQ(client->BeginPush(Push(0, 2)), nullptr) << "it was answered";
  } else {
    const auto again = client->BeginPush(Push(0, 2));
    const Payload other = RandomPayload(shards.layout(), 2);
    again->Put(0, *other);
    const auto report = again->Seal();
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->squared_norm, whole->squared_norm) << "the second copy was taken";
  }
  shards.Commit(Version(1), {Push(0, 2)});
}

// What was given up is spent: the next push has another sequence, and finds its slot.
TEST_P(BegunPushTest, APushThatIsGivenUpCountsNowhere) {
  Shards shards(GetParam(), LayoutOf(60'000), 2);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(payload);
  const std::span<const std::byte> bytes(*payload);
  for (uint64_t sequence = 1; sequence <= 20; ++sequence) {
    const auto begun = client->BeginPush(Push(0, sequence));
    ASSERT_NE(begun, nullptr);
    begun->Put(
        0, bytes.first(sequence % 3 == 0 ? bytes.size() : bytes.size() / 20 * sequence / 4 * 4));
  }
  const Payload other = RandomPayload(shards.layout(), 2);
  const auto begun = client->BeginPush(Push(0, 21));
  ASSERT_NE(begun, nullptr);
  begun->Put(0, *other);
  const auto report = begun->Seal();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->squared_norm, client->Push(Push(1, 1), *other, other)->squared_norm);
  shards.Commit(Version(1), {Push(0, 21)});
}

// What is put into shared memory is nowhere else, and breaks with no stream.
class BrokenStreamTest : public ::testing::TestWithParam<Transport> {};

INSTANTIATE_TEST_SUITE_P(All, BrokenStreamTest,
                         ::testing::Values(Transport::kUnix, Transport::kTcp),
                         [](const auto& info) { return NameOf(info.param); });

// The shards' server goes away while a push is made, and comes back: it is sent again, as a whole.
TEST_P(BrokenStreamTest, ABegunPushWhoseStreamBreaksIsSentAgain) {
  Shards shards(GetParam(), LayoutOf(600'000), 2);
  const Payload payload = RandomPayload(shards.layout(), 1);
  const auto client = shards.Born(payload);
  const std::span<const std::byte> bytes(*payload);
  const auto begun = client->BeginPush(Push(0, 1));
  ASSERT_NE(begun, nullptr);
  begun->Put(0, bytes.first(2'000'000));
  shards[0].StopListening();
  shards[0].Listen();
  begun->Put(2'000'000, bytes.subspan(2'000'000));
  const auto report = begun->Seal();
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->squared_norm, client->Push(Push(1, 1), *payload, payload)->squared_norm);
  shards.Commit(Version(1), {Push(0, 1), Push(1, 1)});
}

TEST(BegunPush, ALayoutNoLongerThanABucketIsPushedAsAWhole) {
  Shards shards(Transport::kUnix, LayoutOf(1000), 1);
  const Payload payload = RandomPayload(shards.layout(), 1);
  EXPECT_EQ(shards.Born(payload)->BeginPush(Push(0, 1)), nullptr);
}

}  // namespace
}  // namespace paceline::ps
