#include "simulator/kernel/event_queue.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "simulator/kernel/random_stream.h"

namespace paceline::simulator {
namespace {

TEST(EventQueue, GivesTheEarliestFirst) {
  EventQueue<int> queue;
  EXPECT_FALSE(queue.NextAt());
  queue.Put(Time(Seconds(3)), 3);
  queue.Put(Time(Seconds(1)), 1);
  queue.Put(Time(Seconds(2)), 2);
  EXPECT_EQ(queue.NextAt(), Time(Seconds(1)));
  for (const int wanted : {1, 2, 3}) {
    const auto [at, found] = queue.Take();
    EXPECT_EQ(found, wanted);
    EXPECT_EQ(at, Time(Seconds(wanted)));
  }
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, WhatIsAtOneTimeComesInTheOrderItWasPutIn) {
  EventQueue<uint64_t> queue;
  RandomStream chance(7, "times");
  struct Put {
    int64_t at;
    uint64_t number;
  };
  std::vector<Put> puts;
  for (uint64_t i = 0; i < 2000; ++i) {
    puts.push_back({static_cast<int64_t>(chance.Next() % 50), i});
    queue.Put(Time(Duration(puts.back().at)), i);
  }
  std::ranges::stable_sort(puts, {}, &Put::at);
  for (const Put& put : puts) EXPECT_EQ(queue.Take().second, put.number);
}

}  // namespace
}  // namespace paceline::simulator
