#include "simulator/model/shared_link.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "simulator/kernel/random_stream.h"

namespace paceline::simulator {
namespace {

Time At(double seconds) { return Time(Seconds(seconds)); }

TEST(SharedLink, OneAloneHasItAll) {
  SharedLink link(100);
  EXPECT_FALSE(link.NextEnd());
  link.Begin(At(1), 7, 50);
  EXPECT_EQ(link.NextEnd(), At(1.5));
  EXPECT_FALSE(link.TakeEnded(At(1.4)));
  EXPECT_EQ(link.TakeEnded(At(1.5)), 7u);
  EXPECT_FALSE(link.NextEnd());
}

TEST(SharedLink, TwoShareIt) {
  SharedLink link(100);
  link.Begin(At(0), 1, 100);
  link.Begin(At(0.5), 2, 100);  // The first has 50 to go: a second more at half the rate.
  EXPECT_EQ(link.NextEnd(), At(1.5));
  EXPECT_EQ(link.TakeEnded(At(1.5)), 1u);
  EXPECT_EQ(link.NextEnd(), At(2));  // 50 of the second were left.
  EXPECT_EQ(link.TakeEnded(At(2)), 2u);
}

TEST(SharedLink, EqualOnesEndInTheirOrder) {
  SharedLink link(10);
  for (const uint64_t transfer : {5, 3, 9}) link.Begin(At(0), transfer, 10);
  const Time end = *link.NextEnd();
  EXPECT_EQ(end, At(3));
  for (const uint64_t transfer : {5, 3, 9}) EXPECT_EQ(link.TakeEnded(end), transfer);
}

TEST(SharedLink, WithoutBoundTakesNoTime) {
  SharedLink link(0);
  link.Begin(At(2), 1, 1e12);
  EXPECT_EQ(link.NextEnd(), At(2));
  EXPECT_EQ(link.TakeEnded(At(2)), 1u);
}

// Beside a walk in small steps that gives each its part, the slow way.
TEST(SharedLink, AgreesWithASlowWalk) {
  RandomStream chance(3, "link");
  struct Transfer {
    double begin, bytes;
  };
  std::vector<Transfer> transfers;
  for (int i = 0; i < 40; ++i)
    transfers.push_back({10 * chance.Uniform(), 5 + 100 * chance.Uniform()});
  std::ranges::sort(transfers, {}, &Transfer::begin);

  std::map<size_t, double> slow;
  std::vector<double> left;
  for (const Transfer& one : transfers) left.push_back(one.bytes);
  constexpr double kStep = 1e-4;
  for (double now = 0; slow.size() < transfers.size(); now += kStep) {
    std::vector<size_t> there;
    for (size_t i = 0; i < transfers.size(); ++i)
      if (transfers[i].begin <= now && left[i] > 0) there.push_back(i);
    for (const size_t i : there) {
      left[i] -= 100 * kStep / static_cast<double>(there.size());
      if (left[i] <= 0) slow[i] = now + kStep;
    }
  }

  SharedLink link(100);
  std::map<size_t, double> quick;
  size_t next = 0;
  while (quick.size() < transfers.size()) {
    const std::optional<Time> end = link.NextEnd();
    if (next < transfers.size() && (!end || At(transfers[next].begin) < *end)) {
      link.Begin(At(transfers[next].begin), next, transfers[next].bytes);
      ++next;
      continue;
    }
    while (const std::optional<uint64_t> ended = link.TakeEnded(*end))
      quick[*ended] = ToSeconds(end->time_since_epoch());
  }
  for (const auto& [transfer, at] : slow) EXPECT_NEAR(quick[transfer], at, 0.02) << transfer;
}

}  // namespace
}  // namespace paceline::simulator
