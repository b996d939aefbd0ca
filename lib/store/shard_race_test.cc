// Transfers, orders and readers at the same time; meant for ThreadSanitizer as well.
#include <atomic>
#include <cmath>
#include <thread>

#include <gtest/gtest.h>

#include "lib/store/shard_testing.h"

namespace paceline::store {
namespace {

using testing::Filled;
using testing::FloatAt;
using testing::OpenShard;
using testing::Push;
using testing::SmallLayout;
using testing::WholeOf;

constexpr uint64_t kRounds = 60;
constexpr uint64_t kWorkers = 3;

// All floats of one published state are equal, and equal to its version's: the rate is -1 and each
// round adds 1.
void ExpectWhole(const Layout& layout, const Published& published) {
  const float want = static_cast<float>(published.version.value());
  for (uint64_t at = 0; at < layout.parameter_bytes(); at += 4) {
    ASSERT_EQ(FloatAt(published.bytes(), at), want) << published.version.value() << " at " << at;
  }
}

void Read(const Layout& layout, const Shard& shard, const std::atomic<bool>& is_done) {
  std::shared_ptr<const Published> held;
  while (!is_done) {
    const auto newest = shard.Newest();
    ExpectWhole(layout, *newest);
    const auto again = shard.Get(newest->version);
    if (again.ok()) ExpectWhole(layout, **again);
    if (held == nullptr || newest->version.value() % 7 == 0) held = newest;
    ExpectWhole(layout, *held);
  }
}

// Of a decay of a half, where version v is v everywhere: v - 1 + 2^-(v-1).
void ReadAverages(const Layout& layout, const Shard& shard, const std::atomic<bool>& is_done) {
  while (!is_done) {
    const auto newest = shard.Newest();
    const auto average = shard.AverageOf(*newest);
    if (!average.ok()) continue;  // Superseded meanwhile.
    const double version = static_cast<double>(newest->version.value());
    const float want = version == 0 ? 0 : static_cast<float>(version - 1 + std::exp2(1 - version));
    for (uint64_t at = 0; at < layout.parameter_bytes(); at += 4)
      ASSERT_NEAR(FloatAt((*average)->bytes(), at), want, 1e-5 * version) << version << " " << at;
  }
}

// Pushes each round's ones; every third push is sent by two transfers at a time, one of which
// loses.
void SendAll(const Layout& layout, Shard& shard, uint64_t worker,
             std::vector<std::atomic<uint64_t>>& sealed) {
  const std::vector<std::byte> values = Filled(layout, 1, 0);
  for (uint64_t round = 1; round <= kRounds; ++round) {
    while (shard.Newest()->version.value() + 1 < round) std::this_thread::yield();
    const PushId id = Push(worker, round);
    const auto send = [&] {
      const auto receipt = testing::Deliver(shard, id, values);
      if (receipt.ok()) sealed[worker] = round;
      return receipt.status().code();
    };
    if (round % 3 != 0) {
      EXPECT_EQ(send(), StatusCode::kOk);
      continue;
    }
    StatusCode other = StatusCode::kUnknown;
    std::thread rival([&] { other = send(); });
    const StatusCode mine = send();
    rival.join();
    EXPECT_TRUE(mine == StatusCode::kOk || other == StatusCode::kOk) << "one of two transfers wins";
  }
}

TEST(ShardRaceTest, ReadersSeeWholeVersionsWhileTransfersAndCommitsRun) {
  const Layout layout = SmallLayout(40000);
  Shard::Options options = WholeOf(layout);
  options.average_decay = 0.5;
  auto shard = OpenShard(options, Filled(layout, 0, 0));
  std::vector<std::atomic<uint64_t>> sealed(kWorkers);
  std::atomic<bool> is_done = false;
  std::vector<std::thread> threads;
  for (int reader = 0; reader < 2; ++reader)
    threads.emplace_back([&] { Read(layout, *shard, is_done); });
  for (int reader = 0; reader < 2; ++reader)
    threads.emplace_back([&] { ReadAverages(layout, *shard, is_done); });
  for (uint64_t worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] { SendAll(layout, *shard, worker, sealed); });
  }
  for (uint64_t round = 1; round <= kRounds; ++round) {
    for (uint64_t worker = 0; worker < kWorkers; ++worker) {
      while (sealed[worker] < round) std::this_thread::yield();
      ASSERT_EQ(shard->Accumulate(Push(worker, round), 1), OkStatus());
    }
    const bool is_pinned = round % 10 == 0;
    ASSERT_TRUE(shard
                    ->Commit({.version = Version(round),
                              .gradient_scale = 1.0 / kWorkers,
                              .learning_rate = -1,
                              .is_pinned = is_pinned})
                    .ok());
    if (round % 10 == 5) shard->Unpin(Version(round - 5));
  }
  is_done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shard->Newest()->version, Version(kRounds));
  EXPECT_TRUE(shard->Get(Version(kRounds)).ok());
}

}  // namespace
}  // namespace paceline::store
