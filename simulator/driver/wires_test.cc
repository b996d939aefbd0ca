#include "simulator/driver/wires.h"

#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::simulator {
namespace {

// Links as the model says, of so many workers.
std::vector<std::optional<chaos::Link>> Plain(size_t workers) {
  return std::vector<std::optional<chaos::Link>>(workers);
}

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
  Wires wires({.latency_seconds = 0.5, .server_bytes_per_second = 100, .bytes = 100}, Plain(3), {},
              queue);
  wires.Send(Time(), 0, 0, Direction::kPull);
  wires.Send(Time(), 1, 0, Direction::kPull);
  wires.Send(Time(), 2, 0, Direction::kPush);
  const auto arrivals = Arrivals(wires, queue);
  EXPECT_DOUBLE_EQ(arrivals.at({0, Direction::kPull}), 2.5);
  EXPECT_DOUBLE_EQ(arrivals.at({1, Direction::kPull}), 2.5);
  EXPECT_DOUBLE_EQ(arrivals.at({2, Direction::kPush}), 1.5);
}

TEST(Wires, NoneIsFasterThanItsWorkersOwnLink) {
  EventQueue<Happening> queue;
  Wires wires({.server_bytes_per_second = 100, .worker_bytes_per_second = 40, .bytes = 100},
              Plain(2), {}, queue);
  wires.Send(Time(), 0, 0, Direction::kPush);
  EXPECT_DOUBLE_EQ(Arrivals(wires, queue).at({0, Direction::kPush}), 2.5);
}

TEST(Wires, PushesMayBeOfAnotherSize) {
  EventQueue<Happening> queue;
  Wires wires({.server_bytes_per_second = 100, .bytes = 100, .push_bytes = 25}, Plain(2), {},
              queue);
  for (const uint32_t worker : {0, 1}) wires.Send(Time(), worker, 0, Direction::kPush);
  wires.Send(Time(), 0, 0, Direction::kPull);
  const auto arrivals = Arrivals(wires, queue);
  EXPECT_DOUBLE_EQ(arrivals.at({1, Direction::kPush}), 0.5);
  EXPECT_DOUBLE_EQ(arrivals.at({0, Direction::kPull}), 1);
  Wires own({.worker_bytes_per_second = 40, .bytes = 100, .push_bytes = 20}, Plain(1), {}, queue);
  own.Send(Time(Seconds(1)), 0, 0, Direction::kPush);
  EXPECT_DOUBLE_EQ(Arrivals(own, queue).at({0, Direction::kPush}), 1.5);
}

// Of two workers with equal transfers, the second has 50 bytes a second, and two more of latency.
TEST(Wires, AnInjectedLinkMakesItsWorkersNarrowerAndLater) {
  EventQueue<Happening> queue;
  const std::vector<std::optional<chaos::Link>> links = {
      std::nullopt, chaos::Link{.bytes_per_second = 50, .latency = Seconds(2)}};
  Wires wires({.latency_seconds = 1, .worker_bytes_per_second = 100, .bytes = 100}, links, {},
              queue);
  wires.Send(Time(), 0, 0, Direction::kPush);
  wires.Send(Time(), 1, 0, Direction::kPush);
  auto arrivals = Arrivals(wires, queue);
  EXPECT_DOUBLE_EQ(arrivals.at({0, Direction::kPush}), 1 + 1);
  EXPECT_DOUBLE_EQ(arrivals.at({1, Direction::kPush}), 2 + 3);
  // A wide one does not widen the model's.
  Wires wide({.worker_bytes_per_second = 100, .bytes = 100},
             {chaos::Link{.bytes_per_second = 1'000'000}}, {}, queue);
  wide.Send(Time(), 0, 0, Direction::kPull);
  EXPECT_DOUBLE_EQ(Arrivals(wide, queue).at({0, Direction::kPull}), 1);
}

TEST(Wires, AnOutageHoldsUpWhatTravelsAndNothingElse) {
  EventQueue<Happening> queue;
  Wires wires({.latency_seconds = 1}, Plain(2), {{0, 5, 6}, {0, 0.5, 3}, {0, 3.25, 4}, {1, 1, 9}},
              queue);
  wires.Send(Time(), 0, 0, Direction::kPush);
  wires.Send(Time(), 1, 0, Direction::kPush);
  auto arrivals = Arrivals(wires, queue);
  // Half a second, 2.5 of outage, a quarter, 0.75 of outage, a quarter.
  EXPECT_DOUBLE_EQ(arrivals.at({0, Direction::kPush}), 4.25);
  EXPECT_DOUBLE_EQ(arrivals.at({1, Direction::kPush}), 1);
  // Begun within one; and after all.
  wires.Send(Time(Seconds(5.5)), 0, 0, Direction::kPull);
  EXPECT_DOUBLE_EQ(Arrivals(wires, queue).at({0, Direction::kPull}), 7);
  wires.Send(Time(Seconds(6)), 0, 0, Direction::kPull);
  EXPECT_DOUBLE_EQ(Arrivals(wires, queue).at({0, Direction::kPull}), 7);
}

TEST(Wires, LivesOfAWorkerDoNotMeet) {
  EventQueue<Happening> queue;
  Wires wires({.worker_bytes_per_second = 50, .bytes = 100}, Plain(2), {}, queue);
  wires.Send(Time(), 1, 0, Direction::kPush);
  wires.Send(Time(Seconds(1)), 1, 3, Direction::kPush);
  std::vector<std::pair<double, uint16_t>> arrived;
  while (!queue.empty()) {
    const auto [at, happening] = queue.Take();
    if (happening.kind == Happening::Kind::kLinkFree) {
      wires.LinkFree(at, happening);
    } else {
      EXPECT_EQ(happening.worker, 1u);
      arrived.emplace_back(ToSeconds(at.time_since_epoch()), happening.life);
    }
  }
  EXPECT_EQ(arrived, (std::vector<std::pair<double, uint16_t>>{{2, 0}, {3, 3}}));
}

}  // namespace
}  // namespace paceline::simulator
