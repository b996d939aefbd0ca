#include "lib/kube/runtime/work_queue.h"

#include <array>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::kube {
namespace {

const ObjectKey kA{"ns", "a"}, kB{"ns", "b"}, kC{"ns", "c"};

TEST(WorkQueue, GivesKeysInTheirOrderEachOnce) {
  WorkQueue queue;
  queue.Add(kA);
  queue.Add(kB);
  queue.Add(kA);
  EXPECT_EQ(queue.depth(), 2u);
  EXPECT_EQ(queue.Take(), kA);
  EXPECT_EQ(queue.Take(), kB);
  EXPECT_EQ(queue.depth(), 0u);
  EXPECT_EQ(queue.in_work(), 2u);
}

TEST(WorkQueue, AKeyInWorkWaitsUntilItIsDone) {
  WorkQueue queue;
  queue.Add(kA);
  ASSERT_EQ(queue.Take(), kA);
  queue.Add(kA);
  queue.Add(kB);
  EXPECT_EQ(queue.Take(), kB);  // Not kA, which is in work.
  queue.Done(kA);
  EXPECT_EQ(queue.Take(), kA);
  queue.Done(kA);
  EXPECT_EQ(queue.depth(), 0u);
  EXPECT_EQ(queue.in_work(), 1u);
}

TEST(WorkQueue, WhatJustHappenedComesBeforeResyncs) {
  WorkQueue queue;
  queue.Add(kA, Priority::kLow);
  queue.Add(kB, Priority::kLow);
  queue.Add(kC);
  queue.Add(kB);                  // Raised.
  queue.Add(kC, Priority::kLow);  // Not lowered.
  EXPECT_EQ(queue.Take(), kC);
  EXPECT_EQ(queue.Take(), kB);
  EXPECT_EQ(queue.Take(), kA);
  EXPECT_EQ(queue.depth(), 0u);
}

TEST(WorkQueue, TimedKeysComeInTheOrderOfTheirTime) {
  WorkQueue queue;
  queue.AddAfter(kA, Seconds(0.04));
  queue.AddAfter(kB, Seconds(0.02));
  queue.AddAfter(kB, Seconds(1000));  // The earlier one counts.
  queue.AddAfter(kC, Seconds(1000));
  queue.AddAfter(kC, Seconds(0.06));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(queue.Take(), kB);
  EXPECT_EQ(queue.Take(), kA);
  EXPECT_EQ(queue.Take(), kC);
  EXPECT_GE(std::chrono::steady_clock::now() - start, Seconds(0.06));
}

TEST(WorkQueue, AWaitingTakeWakesUpForAnEarlierKey) {
  WorkQueue queue;
  queue.AddAfter(kA, Seconds(1000));
  std::thread adder([&] { queue.AddAfter(kB, Seconds(0.001)); });
  EXPECT_EQ(queue.Take(), kB);
  adder.join();
}

TEST(WorkQueue, FailuresWaitLongerUntilForgotten) {
  WorkQueue queue({.backoff_min = Seconds(0.01), .backoff_max = Seconds(0.04)});
  const auto wait = [&] {
    const auto start = std::chrono::steady_clock::now();
    queue.AddRateLimited(kA);
    EXPECT_EQ(queue.Take(), kA);
    queue.Done(kA);
    return ToSeconds(std::chrono::steady_clock::now() - start);
  };
  EXPECT_GE(wait(), 0.01);
  EXPECT_GE(wait(), 0.02);
  EXPECT_GE(wait(), 0.04);
  EXPECT_GE(wait(), 0.04);
  EXPECT_EQ(queue.Failures(kA), 4);
  queue.Forget(kA);
  EXPECT_EQ(queue.Failures(kA), 0);
}

TEST(WorkQueue, ManyFailuresDoNotOverflow) {
  WorkQueue queue({.backoff_min = Seconds(1e-9), .backoff_max = Seconds(1e-8)});
  for (int i = 0; i < 200; ++i) {
    queue.AddRateLimited(kA);
    ASSERT_EQ(queue.Take(), kA);
    queue.Done(kA);
  }
  EXPECT_EQ(queue.Failures(kA), 200);
}

TEST(WorkQueue, ShuttingDownDrainsWhatWaitsButNotWhatIsTimed) {
  WorkQueue queue;
  queue.Add(kA);
  queue.AddAfter(kB, Seconds(0.001));
  queue.ShutDown();
  queue.Add(kC);
  EXPECT_EQ(queue.Take(), kA);
  queue.Done(kA);
  EXPECT_EQ(queue.Take(), std::nullopt);
}

TEST(WorkQueue, ShuttingDownAtOnceDropsAllAndWakesEverybody) {
  WorkQueue queue;
  queue.Add(kA);
  ASSERT_EQ(queue.Take(), kA);
  std::thread waiting([&] { EXPECT_EQ(queue.Take(), std::nullopt); });
  queue.ShutDownNow();
  waiting.join();
  queue.Done(kA);
}

TEST(WorkQueue, TellsItsMetrics) {
  std::vector<size_t> depths;
  int added = 0, retried = 0;
  double waited = -1, worked = -1;
  WorkQueue queue({.backoff_min = Seconds(0.001),
                   .metrics = {.depth = [&](size_t depth) { depths.push_back(depth); },
                               .added = [&] { ++added; },
                               .waited = [&](double seconds) { waited = seconds; },
                               .worked = [&](double seconds) { worked = seconds; },
                               .retried = [&] { ++retried; }}});
  queue.Add(kA);
  queue.Take();
  EXPECT_GE(queue.longest_running_seconds(), 0);
  queue.Done(kA);
  queue.AddRateLimited(kA);
  EXPECT_THAT(depths, testing::ElementsAre(1, 0));
  EXPECT_EQ(added, 1);
  EXPECT_EQ(retried, 1);
  EXPECT_GE(waited, 0);
  EXPECT_GE(worked, 0);
}

TEST(WorkQueueDeathTest, DoneWithoutTakeIsAMistake) {
  WorkQueue queue;
  EXPECT_DEATH(queue.Done(kA), "ns/a is done but was not taken");
}

TEST(WorkQueue, NoKeyIsEverWithTwoThreadsNorLost) {
  constexpr int kKeys = 8, kThreads = 4, kRounds = 2000;
  WorkQueue queue({.backoff_min = Seconds(1e-6), .backoff_max = Seconds(1e-5)});
  std::array<std::atomic<int>, kKeys> holders{};
  std::array<std::atomic<int>, kKeys> wanted{}, seen{};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      while (const auto key = queue.Take()) {
        const size_t index = std::stoul(key->name);
        EXPECT_EQ(holders[index]++, 0);
        seen[index] = wanted[index].load();
        EXPECT_EQ(--holders[index], 0);
        if (t % 2 == 0) {
          queue.Forget(*key);
        }
        queue.Done(*key);
      }
    });
  }
  for (int i = 0; i < kRounds; ++i) {
    const int index = i % kKeys;
    wanted[index] = i + 1;
    const ObjectKey key{"", std::to_string(index)};
    if (i % 3 == 0) {
      queue.AddAfter(key, Seconds(1e-6));
      queue.Add(key);
    } else {
      queue.Add(key, i % 3 == 1 ? Priority::kNormal : Priority::kLow);
    }
  }
  queue.ShutDown();
  for (std::thread& thread : threads) thread.join();
  for (int k = 0; k < kKeys; ++k) EXPECT_EQ(seen[k], wanted[k]) << k;
}

}  // namespace
}  // namespace paceline::kube
