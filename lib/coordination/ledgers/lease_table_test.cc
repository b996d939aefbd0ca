#include "lib/coordination/ledgers/lease_table.h"

#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::coordination {
namespace {

using protocol::LeaseId;

// However many end, in whatever order, and whatever numbers are left out.
TEST(LeaseTableTest, IsAsAMapIs) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 20; ++round) {
    LeaseTable table;
    std::map<LeaseId, WorkerId> map;
    uint64_t next = 1;
    for (int i = 0; i < 1500; ++i) {
      const bool is_growing = (i / 300) % 2 == 0;
      if (map.empty() || random() % 4 < (is_growing ? 3u : 1u)) {
        next += round % 2 == 0 ? 1 : 1 + random() % 3;
        const WorkerId worker(random() % 100);
        table.Add(LeaseId(next), {worker, false, {{0, next, next + 1}}});
        map[LeaseId(next)] = worker;
      } else {
        auto chosen = map.begin();
        std::advance(chosen, random() % std::min<size_t>(map.size(), 20));
        table.Erase(chosen->first);
        map.erase(chosen);
      }
      ASSERT_EQ(table.empty(), map.empty());
      for (int j = 0; j < 10; ++j) {
        const LeaseId lease(random() % (next + 3));
        const auto found = map.find(lease);
        const LeaseTable::Grantee* grantee = table.Find(lease);
        ASSERT_EQ(grantee != nullptr, found != map.end());
        if (grantee != nullptr) {
          ASSERT_EQ(grantee->worker, found->second);
          ASSERT_EQ(grantee->ranges[0].begin, lease.value());
        }
      }
    }
    std::vector<std::pair<LeaseId, WorkerId>> all;
    table.ForEach([&](LeaseId lease, const LeaseTable::Grantee& grantee) {
      all.emplace_back(lease, grantee.worker);
    });
    EXPECT_TRUE(std::equal(
        all.begin(), all.end(), map.begin(), map.end(),
        [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
  }
}

}  // namespace
}  // namespace paceline::coordination
