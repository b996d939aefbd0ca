#include "lib/rpc/shared_memory/version_window.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/rpc/shared_memory/version_room.h"
#include "lib/store/region.h"

namespace paceline::rpc {
namespace {

using store::Region;

constexpr uint64_t kBlock = store::kBlockBytes;
constexpr uint64_t kTwo = 2 * kBlock;

// A version of one byte, over and over, in the memory of two shards.
struct Version {
  explicit Version(char byte) {
    std::vector<VersionRoom::Part> parts;
    for (int rank = 0; rank < 2; ++rank) {
      regions.push_back(*Region::Shareable(kBlock, Region::Others::kRead));
      descriptors.emplace_back(::dup(regions.back()->descriptor()));
    }
    for (int rank = 0; rank < 2; ++rank)
      parts.push_back({{rank * kBlock, (rank + 1) * kBlock}, &descriptors[rank]});
    Publish(byte);
    room = *VersionRoom::Of(parts);
  }
  void Publish(char byte) {
    for (auto& region : regions) std::memset(region->bytes().data(), byte, kBlock);
  }

  std::vector<std::unique_ptr<Region>> regions;
  std::vector<telemetry::OwnedSocket> descriptors;
  std::shared_ptr<VersionPlace> room;
};

struct Seen {
  std::shared_ptr<VersionWindow> window = *VersionWindow::Of(kTwo + 100);
  char* const bytes = reinterpret_cast<char*>(window->bytes().data());
  bool All(char byte) const {
    for (uint64_t at = 0; at < kTwo; ++at)
      if (bytes[at] != byte) return false;
    return true;
  }
};

TEST(VersionWindowTest, IsOrdinaryMemoryAtFirst) {
  const Seen seen;
  EXPECT_TRUE(seen.All(0));
  std::memset(seen.bytes, 'o', kTwo + 100);
  seen.window->Own();
  EXPECT_TRUE(seen.All('o'));
}

TEST(VersionWindowTest, ShowsOneVersionAfterAnotherWithoutACopy) {
  const Seen seen;
  Version a('a'), b('b');
  std::memset(seen.bytes, 'o', kTwo + 100);
  for (int round = 0; round < 3; ++round) {
    for (Version* const version : {&a, &b}) {
      ASSERT_TRUE(seen.window->Show(version->room, kTwo));
      EXPECT_TRUE(seen.All(version == &a ? 'a' : 'b'));
      EXPECT_EQ(seen.bytes[kTwo + 99], 'o');
    }
  }
  b.Publish('c');
  EXPECT_TRUE(seen.All('c'));
}

TEST(VersionWindowTest, TheSameVersionCanBeShownAgain) {
  const Seen seen;
  const Version a('a');
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  seen.bytes[5] = 'x';
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  EXPECT_TRUE(seen.All('a'));
}

TEST(VersionWindowTest, WhatIsWrittenIsItsOwnAndGoneWithTheNextVersion) {
  const Seen seen;
  const Version a('a'), b('b');
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  seen.bytes[kBlock] = 'x';
  EXPECT_EQ(static_cast<char>(a.room->bytes()[kBlock]), 'a');
  ASSERT_TRUE(seen.window->Show(b.room, kTwo));
  EXPECT_TRUE(seen.All('b'));
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  EXPECT_TRUE(seen.All('a'));
}

TEST(VersionWindowTest, OwnMemoryKeepsWhatWasSeenWhateverIsPublishedThen) {
  const Seen seen;
  Version a('a');
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  seen.bytes[7] = 'x';
  seen.window->Own();
  a.Publish('b');
  EXPECT_EQ(seen.bytes[7], 'x');
  seen.bytes[7] = 'a';
  EXPECT_TRUE(seen.All('a'));
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  EXPECT_TRUE(seen.All('b'));
}

TEST(VersionWindowTest, AnotherThreadReadsTheOldOrTheNewAndNothingElse) {
  const Seen seen;
  const Version a('a'), b('b');
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> reads = 0, wrong = 0;
  std::thread reader([&] {
    for (uint64_t at = 0; !is_over; at = (at + 4093) % kTwo, ++reads) {
      const char byte = *const_cast<const volatile char*>(seen.bytes + at);
      wrong += byte == 'a' || byte == 'b' ? 0 : 1;
    }
  });
  for (int round = 0; round < 300 || reads < 1000; ++round) {
    ASSERT_TRUE(seen.window->Show(round % 2 == 0 ? b.room : a.room, kTwo));
    if (round % 16 == 0) seen.window->Own();
  }
  is_over = true;
  reader.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(VersionWindowTest, AChildKeepsWhatWasSeenWhenItWasForked) {
  const Seen seen;
  Version a('a'), b('b');
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  seen.bytes[9] = 'x';
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    (void)!::read(go[0], &byte, 1);
    const bool is_written = seen.bytes[9] == 'x';
    seen.bytes[9] = 'a';
    ::_exit(is_written && seen.All('a') ? 0 : 1);
  }
  a.Publish('z');
  ASSERT_TRUE(seen.window->Show(b.room, kTwo));
  EXPECT_TRUE(seen.All('b'));
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(go[0]);
  ::close(go[1]);
}

// Forks that come at any moment, beside a thread that shows versions.
TEST(VersionWindowTest, ForksAndVersionsDoNotWaitForEachOther) {
  const Seen seen;
  const Version a('a'), b('b');
  std::atomic<bool> is_over = false;
  std::thread shower([&] {
    for (int round = 0; !is_over; ++round)
      ASSERT_TRUE(seen.window->Show(round % 2 == 0 ? a.room : b.room, kTwo));
  });
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(seen.All('a') || seen.All('b') || seen.All(0) ? 0 : 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << i;
  }
  is_over = true;
  shower.join();
}

// Whose second slice cannot be moved.
class HalfPlace final : public VersionPlace {
 public:
  explicit HalfPlace(std::shared_ptr<VersionPlace> whole) : whole_(std::move(whole)) {}
  std::span<const std::byte> bytes() const override { return whole_->bytes(); }
  std::span<std::byte> values() override { return {}; }
  Status MoveTo(std::byte* there, size_t) override {
    const Status half = whole_->MoveTo(there, kBlock);
    return half.ok() ? ResourceExhausted("half of it") : half;
  }
  void ComeBack() override { whole_->ComeBack(); }

 private:
  const std::shared_ptr<VersionPlace> whole_;
};

TEST(VersionWindowTest, WhatCannotBeShownIsCopiedOnceAndForAll) {
  const Seen seen;
  Version a('a'), b('b');
  ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  EXPECT_TRUE(seen.window->can_show());
  EXPECT_FALSE(seen.window->Show(std::make_shared<HalfPlace>(b.room), kTwo));
  b.Publish('z');
  EXPECT_TRUE(seen.All('b'));
  EXPECT_FALSE(seen.window->can_show());
  EXPECT_FALSE(seen.window->Show(a.room, kTwo));
  EXPECT_TRUE(seen.All('b'));
  seen.bytes[0] = 'x';
  EXPECT_EQ(static_cast<char>(b.room->bytes()[0]), 'z');
}

TEST(VersionWindowTest, OutlivesWhatItShows) {
  const Seen seen;
  {
    Version a('a');
    ASSERT_TRUE(seen.window->Show(a.room, kTwo));
  }
  EXPECT_TRUE(seen.All('a'));
  seen.window->Own();
  EXPECT_TRUE(seen.All('a'));
}

}  // namespace
}  // namespace paceline::rpc
