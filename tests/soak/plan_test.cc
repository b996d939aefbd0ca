#include "tests/soak/plan.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace paceline::soak {
namespace {

TEST(Draws, AreTheSameForTheSameSeedAndNameOnly) {
  Draws one(7, "a"), same(7, "a"), other_name(7, "b"), other_seed(8, "a");
  const double first = one.Share();
  EXPECT_EQ(first, same.Share());
  EXPECT_NE(first, other_name.Share());
  EXPECT_NE(first, other_seed.Share());
  EXPECT_NE(first, one.Share());
}

TEST(Draws, StayWithinTheirBounds) {
  Draws draws(1, "bounds");
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(draws.Below(3));
    const double even = draws.Between(-2, 5);
    EXPECT_TRUE(-2 <= even && even < 5) << even;
    const double factor = draws.BetweenByFactor(0.5, 30);
    EXPECT_TRUE(0.5 <= factor && factor < 30) << factor;
  }
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2}));
}

std::vector<Episode> EpisodesOf(uint64_t seed, uint64_t job, int count) {
  Faults faults(seed, job);
  std::vector<Episode> episodes;
  for (int i = 0; i < count; ++i) episodes.push_back(faults.Next());
  return episodes;
}

TEST(Faults, AreAFunctionOfSeedAndJob) {
  EXPECT_EQ(EpisodesOf(3, 5, 20), EpisodesOf(3, 5, 20));
  EXPECT_NE(EpisodesOf(3, 5, 20), EpisodesOf(3, 6, 20));
  EXPECT_NE(EpisodesOf(3, 5, 20), EpisodesOf(4, 5, 20));
}

TEST(Faults, HitEveryRoleInEveryWayBeforeAnyTwice) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::map<RoleAndKind, uint64_t> counts;
    for (const RoleAndKind& what : AllFaults()) counts[what] = 0;
    uint64_t dealt = 0;
    for (const Episode& episode : EpisodesOf(seed, 0, 30)) {
      for (const Fault& fault : episode.faults) ++counts[fault.what];
      dealt += episode.faults.size();
      for (const auto& [what, count] : counts) {
        EXPECT_GE(count, dealt / counts.size()) << "seed " << seed << ", " << ToString(what.role);
        EXPECT_LE(count, dealt / counts.size() + 1) << "seed " << seed;
      }
    }
    EXPECT_EQ(counts.size(), AllFaults().size());
  }
}

TEST(Faults, LastAsLongAsTheirKindMay) {
  for (const Episode& episode : EpisodesOf(1, 0, 500)) {
    ASSERT_FALSE(episode.faults.empty());
    double before = 0;
    for (const Fault& fault : episode.faults) {
      EXPECT_LE(before, fault.after_seconds) << "in order";
      before = fault.after_seconds;
      const bool is_kill = fault.what.kind == Kind::kKill;
      EXPECT_EQ(fault.seconds == 0, is_kill);
      EXPECT_GE(fault.seconds, is_kill ? 0 : 0.5);
      EXPECT_LE(fault.seconds, fault.what.kind == Kind::kFreeze ? 30 : 12);
      EXPECT_EQ(fault.bytes_per_second > 0, fault.what.kind == Kind::kSlow);
    }
  }
}

TEST(PlanOf, HasEverySchemeWithCheckpointsAndWithoutInAnyFourteenJobs) {
  for (const uint64_t seed : {0u, 1u, 2u, 99u}) {
    for (const uint64_t first : {0u, 1u, 5u}) {
      std::set<std::pair<std::string, bool>> seen;
      for (uint64_t job = first; job < first + 14; ++job) {
        const JobPlan plan = PlanOf(seed, job);
        EXPECT_EQ(plan.number, job);
        seen.insert({plan.scheme.name, plan.has_checkpoints});
      }
      EXPECT_EQ(seen.size(), 14u) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace paceline::soak
