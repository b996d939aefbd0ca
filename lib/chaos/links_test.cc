#include "lib/chaos/links.h"

#include <gtest/gtest.h>

namespace paceline::chaos {
namespace {

TEST(Link, IsTheNarrowestOfThoseThatHitTheWorkerAndTheSumOfTheirLatencies) {
  const job::Chaos chaos{
      .enabled = true,
      .links = {{.workers = {}, .bytes_per_second = 1000, .latency_seconds = 0.25},
                {.workers = {1, 3}, .bytes_per_second = 500, .latency_seconds = 0.5}}};
  const std::optional<Link> fast = LinkOf(chaos, WorkerId(0));
  ASSERT_TRUE(fast.has_value());
  EXPECT_EQ(fast->TimeFor(0), Seconds(0.25));
  EXPECT_EQ(fast->TimeFor(2000), Seconds(2.25));
  const std::optional<Link> slow = LinkOf(chaos, WorkerId(3));
  ASSERT_TRUE(slow.has_value());
  EXPECT_EQ(slow->TimeFor(2000), Seconds(4.75));
}

TEST(Link, IsLeftAloneUnlessAsked) {
  job::Chaos chaos{.enabled = true, .links = {{.workers = {2}, .bytes_per_second = 1}}};
  EXPECT_FALSE(LinkOf(chaos, WorkerId(0)).has_value());
  EXPECT_TRUE(LinkOf(chaos, WorkerId(2)).has_value());
  chaos.enabled = false;
  EXPECT_FALSE(LinkOf(chaos, WorkerId(2)).has_value());
}

TEST(Link, OfAGroupIsThatGroups) {
  const job::Chaos chaos{.enabled = true,
                         .links = {{.group = "small", .workers = {2}, .bytes_per_second = 1}}};
  EXPECT_TRUE(LinkOf(chaos, WorkerId(2), "small").has_value());
  EXPECT_FALSE(LinkOf(chaos, WorkerId(1), "small").has_value());
  EXPECT_FALSE(LinkOf(chaos, WorkerId(2), "big").has_value());
}

}  // namespace
}  // namespace paceline::chaos
