#include "lib/rpc/shared_memory/version_room.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/store/region.h"

namespace paceline::rpc {
namespace {

using store::Region;
using ::testing::HasSubstr;

constexpr uint64_t kBlock = store::kBlockBytes;

struct Shared {
  explicit Shared(store::Slice slice_in)
      : slice(slice_in),
        region(*Region::Shareable(slice.size_bytes(), Region::Others::kRead)),
        descriptor(::dup(region->descriptor())) {}
  void Fill(char byte) { std::memset(region->bytes().data(), byte, region->bytes().size()); }
  VersionRoom::Part part() const { return {slice, &descriptor}; }

  const store::Slice slice;
  std::unique_ptr<Region> region;
  telemetry::OwnedSocket descriptor;
};

char At(const VersionRoom& room, uint64_t at) { return static_cast<char>(room.bytes()[at]); }

TEST(VersionRoomTest, SlicesStandSideBySideAndFollowWhatIsPublished) {
  Shared first({0, kBlock}), last({kBlock, 2 * kBlock + 100});
  first.Fill('a');
  last.Fill('b');
  const auto room = VersionRoom::Of({first.part(), {{kBlock, kBlock}}, last.part()});
  ASSERT_TRUE(room.ok()) << room.status();
  ASSERT_EQ((*room)->bytes().size(), 2 * kBlock + 100);
  EXPECT_EQ(At(**room, 0), 'a');
  EXPECT_EQ(At(**room, kBlock - 1), 'a');
  EXPECT_EQ(At(**room, kBlock), 'b');
  EXPECT_EQ(At(**room, 2 * kBlock + 99), 'b');
  last.Fill('c');
  EXPECT_EQ(At(**room, 2 * kBlock), 'c');
  EXPECT_FALSE((*room)->is_spoilt());
}

TEST(VersionRoomTest, WhatIsWrittenStaysHereAndIsNoticed) {
  Shared shared({0, kBlock});
  shared.Fill('a');
  const auto room = *VersionRoom::Of({shared.part()});
  const auto other = *VersionRoom::Of({shared.part()});
  const std::span<std::byte> values = room->values();
  std::vector<std::thread> writers;
  for (uint64_t at = 0; at < 4; ++at)
    writers.emplace_back([&, at] { values[at * 8192] = std::byte{'x'}; });
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(room->is_spoilt());
  EXPECT_EQ(At(*room, 0), 'x');
  EXPECT_EQ(At(*room, 3 * 8192), 'x');
  EXPECT_FALSE(other->is_spoilt());
  EXPECT_EQ(At(*other, 0), 'a');
  EXPECT_TRUE(std::ranges::all_of(std::as_const(*shared.region).bytes(),
                                  [](std::byte byte) { return byte == std::byte{'a'}; }));
}

TEST(VersionRoomTest, APlaceThatIsUsedAgainIsNotSpoilt) {
  Shared shared({0, kBlock});
  (*VersionRoom::Of({shared.part()}))->values()[0] = std::byte{1};
  EXPECT_FALSE((*VersionRoom::Of({shared.part()}))->is_spoilt());
}

TEST(VersionRoomTest, WhatCannotBeIsSaidAndNothingStays) {
  Shared whole({0, kBlock}), ragged({0, 100}), after({100, 200});
  const auto is_refused = [](const std::vector<VersionRoom::Part>& parts, const char* why) {
    const auto room = VersionRoom::Of(parts);
    ASSERT_FALSE(room.ok());
    EXPECT_EQ(room.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(room.status()), HasSubstr(why));
  };
  is_refused({}, "no bytes");
  is_refused({ragged.part(), after.part()}, "within a page");
  is_refused({{{0, 2 * kBlock}, &whole.descriptor}}, "too small");
  const telemetry::OwnedSocket open(::memfd_create("open", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(open.get(), kBlock), 0);
  is_refused({{{0, kBlock}, &open}}, "not sealed");
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  EXPECT_THAT(text, ::testing::Not(HasSubstr("memfd:open")));
}

TEST(VersionRoomTest, ThereIsAnEndToRoomsToComputeIn) {
  Shared shared({0, kBlock});
  std::vector<std::unique_ptr<VersionRoom>> rooms;
  for (size_t i = 0; i < VersionRoom::kRoomsMax; ++i) {
    rooms.push_back(*VersionRoom::Of({shared.part()}));
    EXPECT_EQ(rooms.back()->values().size(), kBlock);
  }
  const auto room = *VersionRoom::Of({shared.part()});
  EXPECT_TRUE(room->values().empty());
  EXPECT_EQ(room->bytes().size(), kBlock);
  rooms.pop_back();
  EXPECT_FALSE(room->values().empty());
}

// --- Elsewhere.

struct Elsewhere {
  explicit Elsewhere(size_t size_bytes)
      : range(*PageRange::Of(size_bytes, PageRange::Holds::kZeros)) {}
  char operator[](size_t at) const { return static_cast<char>(range.begin()[at]); }
  void Set(size_t at, char byte) { range.begin()[at] = std::byte(byte); }
  PageRange range;
};

TEST(VersionRoomTest, StandsElsewhereAsWellAsFarAsItIsTold) {
  Shared first({0, kBlock}), last({kBlock, 2 * kBlock + 100});
  first.Fill('a');
  last.Fill('b');
  const auto room = *VersionRoom::Of({first.part(), {{kBlock, kBlock}}, last.part()});
  Elsewhere there(2 * kBlock + 100);
  ASSERT_TRUE(room->MoveTo(there.range.begin(), 2 * kBlock - 4096).ok());
  EXPECT_EQ(there[0], 'a');
  EXPECT_EQ(there[kBlock - 1], 'a');
  EXPECT_EQ(there[kBlock], 'b');
  EXPECT_EQ(there[2 * kBlock - 4097], 'b');
  EXPECT_EQ(there[2 * kBlock - 4096], 0);
  EXPECT_EQ(At(*room, kBlock), 'b');
  last.Fill('c');
  EXPECT_EQ(there[kBlock], 'c');
  room->ComeBack();
  EXPECT_EQ(At(*room, 2 * kBlock + 99), 'c');
}

TEST(VersionRoomTest, WhatIsWrittenElsewhereIsGoneOnceItHasComeBack) {
  Shared first({0, kBlock}), last({kBlock, 2 * kBlock});
  first.Fill('a');
  last.Fill('b');
  const auto room = *VersionRoom::Of({first.part(), last.part()});
  Elsewhere there(2 * kBlock);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(room->MoveTo(there.range.begin(), 2 * kBlock).ok());
    EXPECT_EQ(there[100], 'a');
    EXPECT_EQ(there[2 * kBlock - 1], 'b');
    there.Set(100, 'x');
    there.Set(2 * kBlock - 1, 'y');
    EXPECT_EQ(there[100], 'x');
    EXPECT_TRUE(std::ranges::all_of(std::as_const(*first.region).bytes(),
                                    [](std::byte byte) { return byte == std::byte{'a'}; }));
    room->ComeBack();
    EXPECT_EQ(At(*room, 100), 'a');
    EXPECT_EQ(At(*room, 2 * kBlock - 1), 'b');
    EXPECT_FALSE(room->is_spoilt());
  }
}

TEST(VersionRoomTest, MuchThatIsWrittenElsewhereIsNoticed) {
  Shared shared({0, 4 * kBlock});
  const size_t pages = 4 * kBlock / 4096;
  const auto room = *VersionRoom::Of({shared.part()});
  Elsewhere there(4 * kBlock);
  for (const size_t written : {pages / 8, pages / 8 + 1}) {
    ASSERT_TRUE(room->MoveTo(there.range.begin(), 4 * kBlock).ok());
    for (size_t page = 0; page < written; ++page) there.Set(page * 4096, 'x');
    room->ComeBack();
    EXPECT_EQ(room->is_spoilt(), written > pages / 8);
  }
  EXPECT_EQ(At(*room, 0), 0);
}

TEST(VersionRoomDeathTest, OtherFaultsGoWhereTheyWent) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, [](int) {
          constexpr char kWord[] = "the handler before\n";
          (void)!::write(STDERR_FILENO, kWord, sizeof kWord);
          _exit(7);
        });
        Shared shared({0, kBlock});
        const auto room = *VersionRoom::Of({shared.part()});
        room->values()[0] = std::byte{1};
        void* const nothing = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        *static_cast<volatile char*>(nothing) = 1;
      },
      ::testing::ExitedWithCode(7), "the handler before");
}

}  // namespace
}  // namespace paceline::rpc
