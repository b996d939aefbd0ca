// Versions that a worker computes on where the shards have published them.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/rpc/shared_memory/version_room.h"
#include "ps-server/service/data_plane_testing.h"

namespace paceline::ps {
namespace {

using sync::Exactness;
using testing::LayoutOf;
using testing::MappedRegions;
using testing::Payload;
using testing::RandomPayload;
using testing::Shards;
using testing::Transport;

constexpr int64_t kParameters = 600'000;

store::PushId Push(uint64_t sequence) { return {WorkerId(0), Incarnation(1), Sequence(sequence)}; }

struct HeldVersion {
  rpc::PullReport report;
  std::shared_ptr<rpc::VersionPlace> place;
};

std::vector<std::byte> Copied(const HeldVersion& held) {
  return {held.place->bytes().begin(), held.place->bytes().end()};
}

std::vector<std::byte> Pulled(rpc::ParameterClient& client, const Shards& shards,
                              uint64_t version) {
  std::vector<std::byte> into(shards.layout().total_bytes());
  const auto report = client.Pull(Version(version), Exactness::kExact, into);
  EXPECT_TRUE(report.ok() && !report->is_superseded) << report.status();
  return into;
}

HeldVersion Held(rpc::ParameterClient& client, uint64_t version) {
  HeldVersion held;
  const auto report = client.Hold(Version(version), Exactness::kExact, [&](const auto& place) {
    held.place = place;
    return true;
  });
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report.ok() && report->has_value());
  if (report.ok() && *report) held.report = **report;
  return held;
}

// False: it is to be pulled.
bool IsHeld(rpc::ParameterClient& client, uint64_t version) {
  const auto report =
      client.Hold(Version(version), Exactness::kExact, [](const auto&) { return true; });
  EXPECT_TRUE(report.ok()) << report.status();
  return report.ok() && report->has_value();
}

// The memory itself, in however many places: inodes.
std::set<std::string> RegionsMapped() {
  std::set<std::string> regions;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:paceline") == std::string::npos) continue;
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 5; ++i) fields >> field;
    regions.insert(field);
  }
  return regions;
}

struct World {
  explicit World(uint32_t count = 2, int64_t parameters = kParameters)
      : shards(Transport::kMemory, LayoutOf(parameters), count),
        initial(RandomPayload(shards.layout(), 1)),
        client(shards.Born(initial)) {}

  // One push, and the commit of it.
  void Commit(uint64_t version) {
    const Payload payload = RandomPayload(shards.layout(), version);
    ASSERT_TRUE(client->Push(Push(version), *payload, payload).ok());
    shards.Commit(Version(version), {Push(version)});
  }

  Shards shards;
  const Payload initial;
  const std::unique_ptr<rpc::ParameterClient> client;
};

TEST(HeldVersionTest, IsWhatAPullBrings) {
  for (const uint32_t count : {1u, 2u, 3u}) {
    World world(count);
    const auto other = world.shards.Client();
    EXPECT_EQ(Copied(Held(*world.client, 0)), *world.initial);
    for (uint64_t version = 1; version <= 12; ++version) {
      world.Commit(version);
      const HeldVersion held = Held(*world.client, version);
      EXPECT_EQ(held.report.oldest, Version(version));
      EXPECT_EQ(Copied(held), Pulled(*other, world.shards, version)) << count << " " << version;
    }
  }
}

TEST(HeldVersionTest, StaysWhileOthersAreMadeUntilTheNextIsAskedFor) {
  World world;
  const auto holder = world.shards.Client();
  const HeldVersion held = Held(*holder, 0);
  for (uint64_t version = 1; version <= 6; ++version) world.Commit(version);
  EXPECT_EQ(Copied(held), *world.initial);
  EXPECT_EQ(Copied(Held(*holder, 6)), Pulled(*world.client, world.shards, 6));
  EXPECT_EQ(Pulled(*holder, world.shards, 6), Pulled(*world.client, world.shards, 6));
}

// What is computed on is of its version until something else is.
TEST(HeldVersionTest, StaysUntilTheNextIsTaken) {
  World world;
  const auto holder = world.shards.Client();
  const HeldVersion held = Held(*holder, 0);
  for (uint64_t version = 1; version <= 6; ++version) world.Commit(version);
  const auto report = holder->Hold(Version(6), Exactness::kExact, [&](const auto& next) {
    for (uint64_t version = 7; version <= 12; ++version) world.Commit(version);
    EXPECT_EQ(Copied(held), *world.initial);
    EXPECT_NE(Copied({{}, next}), *world.initial);
    return true;
  });
  ASSERT_TRUE(report.ok() && report->has_value()) << report.status();
  for (uint64_t version = 13; version <= 18; ++version) world.Commit(version);
  EXPECT_NE(Copied(held), *world.initial);  // The place holds a newer one.
}

TEST(HeldVersionTest, WhoTakesNothingHoldsWhatHeHeld) {
  World world;
  const auto holder = world.shards.Client();
  const HeldVersion held = Held(*holder, 0);
  for (uint64_t version = 1; version <= 6; ++version) {
    world.Commit(version);
    const auto report =
        holder->Hold(Version(version), Exactness::kExact, [](const auto&) { return false; });
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->has_value());
  }
  EXPECT_EQ(Copied(held), *world.initial);
  EXPECT_EQ(Copied(Held(*holder, 6)), Pulled(*world.client, world.shards, 6));
}

TEST(HeldVersionTest, TheSameVersionCanBeHeldAgain) {
  World world;
  const auto holder = world.shards.BareClient();  // Which tries nothing again: errors are seen.
  for (int i = 0; i < 6; ++i) (void)Held(*holder, 0);
  const HeldVersion held = Held(*holder, 0);
  for (uint64_t version = 1; version <= 6; ++version) world.Commit(version);
  EXPECT_EQ(Copied(held), *world.initial);
  // Refused, it is not held any more; nor is it given back twice.
  const auto refused =
      holder->Hold(Version(6), Exactness::kExact, [](const auto&) { return false; });
  ASSERT_TRUE(refused.ok()) << refused.status();
  (void)Held(*holder, 6);
  const auto again = holder->Hold(Version(6), Exactness::kExact, [](const auto&) { return false; });
  ASSERT_TRUE(again.ok()) << again.status();
  world.Commit(7);
  EXPECT_EQ(Copied(Held(*holder, 7)), Pulled(*world.client, world.shards, 7));
}

TEST(HeldVersionTest, ASupersededOneIsToldAndTheNextIsHeld) {
  World world;
  for (uint64_t version = 1; version <= 4; ++version) world.Commit(version);
  const HeldVersion gone = Held(*world.client, 1);
  EXPECT_TRUE(gone.report.is_superseded);
  EXPECT_EQ(gone.place, nullptr);
  EXPECT_EQ(Copied(Held(*world.client, 4)), Pulled(*world.client, world.shards, 4));
}

// What was written to one would stand in the place of later versions, too.
TEST(HeldVersionTest, WhoWritesToOneGetsCopiesFromThenOn) {
  World world;
  const HeldVersion held = Held(*world.client, 0);
  held.place->values()[100] = std::byte{0xff};
  EXPECT_EQ(held.place->bytes()[100], std::byte{0xff});
  for (uint64_t version = 1; version <= 8; ++version) {
    world.Commit(version);
    EXPECT_FALSE(IsHeld(*world.client, version));
  }
  const auto other = world.shards.Client();
  EXPECT_EQ(Pulled(*world.client, world.shards, 8), Pulled(*other, world.shards, 8));
  EXPECT_EQ(Copied(Held(*other, 8)), Pulled(*other, world.shards, 8));
}

TEST(HeldVersionTest, SmallModelsAndSocketsAreCopied) {
  World small(2, 1000);
  EXPECT_FALSE(IsHeld(*small.client, 0));
  Shards sockets(Transport::kUnix, LayoutOf(kParameters), 2);
  const auto client = sockets.Born(RandomPayload(sockets.layout(), 1));
  EXPECT_FALSE(IsHeld(*client, 0));
}

TEST(HeldVersionTest, OutlivesItsConnectionAndItsShards) {
  std::optional<HeldVersion> held;
  Payload initial;
  const int before = MappedRegions();
  {
    World world;
    initial = world.initial;
    held = Held(*world.client, 0);
  }
  EXPECT_EQ(Copied(*held), *initial);
  held.reset();
  EXPECT_EQ(MappedRegions(), before);
}

// As after an error of a connection: what shards name anew may be called as something was before.
TEST(HeldVersionTest, IsHeldAnewAfterAShardHasComeBack) {
  World world;
  (void)Held(*world.client, 0);
  world.shards[0].StopListening();
  world.shards[0].Listen();
  world.Commit(1);
  EXPECT_EQ(Copied(Held(*world.client, 1)), Pulled(*world.client, world.shards, 1));
}

// Memory of a reader that has gone without a word is not used again, and the shard makes new.
TEST(HeldVersionTest, WhoEndsWhileItHoldsGivesItBack) {
  World world;
  std::set<std::string> regions;
  for (uint64_t version = 1; version <= 30; ++version) {
    world.Commit(version);
    (void)Held(*world.shards.Client(), version);
    regions.merge(RegionsMapped());
  }
  // Slots for pushes among them.
  EXPECT_LE(regions.size(), 16u);
}

TEST(HeldVersionTest, APullGivesBackWhatIsHeld) {
  World world;
  const auto holder = world.shards.Client();
  const HeldVersion held = Held(*holder, 0);
  world.Commit(1);
  (void)Pulled(*holder, world.shards, 1);
  for (uint64_t version = 2; version <= 8; ++version) world.Commit(version);
  EXPECT_NE(Copied(held), *world.initial);  // The place holds a newer one.
}

TEST(HeldVersionTest, PlacesDoNotBecomeMoreAsVersionsGoBy) {
  World world;
  int most = 0;
  for (uint64_t version = 1; version <= 40; ++version) {
    world.Commit(version);
    (void)Held(*world.client, version);
    if (version == 12) most = MappedRegions();
  }
  EXPECT_LE(MappedRegions(), most);
}

}  // namespace
}  // namespace paceline::ps
