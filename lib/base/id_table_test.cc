#include "lib/base/id_table.h"

#include <map>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "lib/base/ids.h"

namespace paceline {
namespace {

TEST(IdTableTest, IsInTheOrderOfItsKeys) {
  IdTable<WorkerId, std::string> table;
  EXPECT_TRUE(table.empty());
  for (const uint64_t worker : {7, 3, 5, 0}) table[WorkerId(worker)] = std::to_string(worker);
  std::string all;
  for (const auto& [worker, text] : table) all += ToString(worker) + "=" + text + " ";
  EXPECT_EQ(all, "w0=0 w3=3 w5=5 w7=7 ");
  EXPECT_EQ(table.find(WorkerId(5))->second, "5");
  EXPECT_EQ(table.find(WorkerId(4)), table.end());
  EXPECT_EQ(table.erase(WorkerId(3)), 1u);
  EXPECT_EQ(table.erase(WorkerId(3)), 0u);
  EXPECT_FALSE(table.contains(WorkerId(3)));
  EXPECT_EQ(table[WorkerId(3)], "");
  EXPECT_EQ(table.size(), 4u);
}

TEST(IdSetTest, IsAsASetIs) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    IdSet<WorkerId> ids;
    std::set<WorkerId> set;
    for (int i = 0; i < 60; ++i) {
      const WorkerId key(random() % 20 + (round % 2) * 1000);
      ASSERT_EQ(ids.contains(key), set.contains(key));
      if (random() % 3 == 0) {
        ASSERT_EQ(ids.erase(key), set.erase(key));
      } else {
        ids.insert(key);
        set.insert(key);
      }
      ASSERT_TRUE(std::equal(ids.begin(), ids.end(), set.begin(), set.end()));
      ASSERT_EQ(ids.size(), set.size());
    }
    ids.clear();
    ids.insert(set.begin(), set.end());
    ASSERT_TRUE(std::equal(ids.begin(), ids.end(), set.begin(), set.end()));
  }
}

// The largest numbers, too: memory is for what is there.
TEST(IdTableTest, IsAsAMapIs) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    IdTable<WorkerId, int> table;
    std::map<WorkerId, int> map;
    const uint64_t base = random() % 3 == 0 ? UINT64_MAX - 40 : random() % 5;
    for (int i = 0; i < 100; ++i) {
      const WorkerId key(base + random() % 40);
      switch (random() % 4) {
        case 0:
          ASSERT_EQ(table.erase(key), map.erase(key));
          break;
        case 1:
          ASSERT_EQ(table.contains(key), map.contains(key));
          break;
        case 2:
          ASSERT_EQ(table.find(key) == table.end(), map.find(key) == map.end());
          if (map.contains(key)) {
            ASSERT_EQ(table.find(key)->second, map.at(key));
          }
          break;
        default:
          table[key] = map[key] = i;
      }
      ASSERT_EQ(table.size(), map.size());
      ASSERT_TRUE(std::equal(
          map.begin(), map.end(), table.begin(), table.end(),
          [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
    }
    table.clear();
    ASSERT_TRUE(table.empty());
  }
}

}  // namespace
}  // namespace paceline
