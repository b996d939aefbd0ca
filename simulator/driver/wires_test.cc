#include "simulator/driver/wires.h"

#include <map>
#include <utility>

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

// Until nothing happens any more; when each one's transfer was whole.
std::map<std::pair<uint32_t, Direction>, double> Arrivals(Wires& wires,
                                                          EventQueue<Happening>& queue) {
  std::map<std::pair<uint32_t, Direction>, double> arrivals;
  while (!queue.empty()) {
    const auto [at, happening] = queue.Take();
    if (happening.kind == Happening::Kind::kLinkFree) {
      wires.LinkFree(at, happening);
    } else {
      arrivals[{happening.worker, happening.direction}] = ToSeconds(at.time_since_epoch());
    }
  }
  return arrivals;
}

TEST(Wires, PullsShareAndPushesDoNotHinderThem) {
  EventQueue<Happening> queue;
  Wires wires({.latency_seconds = 0.5, .server_bytes_per_second = 100, .bytes = 100}, 3, queue);
  wires.Send(Time(), 0, Direction::kPull);
  wires.Send(Time(), 1, Direction::kPull);
  wires.Send(Time(), 2, Direction::kPush);
  const auto arrivals = Arrivals(wires, queue);
  EXPECT_DOUBLE_EQ(arrivals.at({0, Direction::kPull}), 2.5);
  EXPECT_DOUBLE_EQ(arrivals.at({1, Direction::kPull}), 2.5);
  EXPECT_DOUBLE_EQ(arrivals.at({2, Direction::kPush}), 1.5);
}

TEST(Wires, NoneIsFasterThanItsWorkersOwnLink) {
  EventQueue<Happening> queue;
  Wires wires({.server_bytes_per_second = 100, .worker_bytes_per_second = 40, .bytes = 100}, 2,
              queue);
  wires.Send(Time(), 0, Direction::kPush);
  EXPECT_DOUBLE_EQ(Arrivals(wires, queue).at({0, Direction::kPush}), 2.5);
}

}  // namespace
}  // namespace paceline::simulator
