#include "lib/store/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/recycler.h"

namespace paceline::store {
namespace {

void Publish(VersionHistory& history, uint64_t version, bool is_pinned = false) {
  auto published = std::make_shared<Published>(Region::Private(0));
  published->version = Version(version);
  history.Publish(std::move(published), is_pinned);
}

std::vector<uint64_t> Readable(const VersionHistory& history, uint64_t up_to) {
  std::vector<uint64_t> readable;
  for (uint64_t version = 0; version <= up_to; ++version) {
    const auto got = history.Get(Version(version));
    if (!got.ok()) continue;
    EXPECT_EQ((*got)->version, Version(version));
    readable.push_back(version);
  }
  return readable;
}

TEST(VersionHistoryTest, KeepsTheNewestTwo) {
  VersionHistory history;
  EXPECT_EQ(history.Newest(), nullptr);
  EXPECT_EQ(history.Get(Version(0)).status().code(), StatusCode::kNotFound);
  for (uint64_t version = 0; version <= 4; ++version) Publish(history, version);
  EXPECT_EQ(Readable(history, 9), (std::vector<uint64_t>{3, 4}));
  EXPECT_EQ(history.Newest()->version, Version(4));
  EXPECT_THAT(Message(history.Get(Version(1)).status()),
              testing::HasSubstr("superseded: got v1, newest v4"));
  EXPECT_THAT(Message(history.Get(Version(9)).status()),
              testing::HasSubstr("not published yet: got v9, newest v4"));
}

TEST(VersionHistoryTest, KeepsPinnedOnesUntilUnpinned) {
  VersionHistory history;
  for (uint64_t version = 0; version <= 6; ++version)
    Publish(history, version, version == 1 || version == 6);
  EXPECT_EQ(Readable(history, 6), (std::vector<uint64_t>{1, 5, 6}));
  history.Unpin(Version(1));
  history.Unpin(Version(6));
  history.Unpin(Version(77));
  EXPECT_EQ(Readable(history, 6), (std::vector<uint64_t>{5, 6}));
  Publish(history, 7);
  Publish(history, 8);
  EXPECT_EQ(Readable(history, 8), (std::vector<uint64_t>{7, 8}));
}

TEST(VersionHistoryTest, TheNewestButOneStaysWhenItIsUnpinned) {
  VersionHistory history;
  for (uint64_t version = 0; version <= 2; ++version) Publish(history, version, version == 1);
  history.Unpin(Version(1));
  EXPECT_EQ(Readable(history, 2), (std::vector<uint64_t>{1, 2}));
}

TEST(VersionHistoryTest, AVersionThatSomebodyHoldsCanStillBeRead) {
  VersionHistory history;
  Publish(history, 0);
  auto held = history.Newest();
  for (uint64_t version = 1; version <= 4; ++version) Publish(history, version);
  EXPECT_EQ(Readable(history, 4), (std::vector<uint64_t>{0, 3, 4}));
  held = nullptr;
  EXPECT_EQ(Readable(history, 4), (std::vector<uint64_t>{3, 4}));
}

TEST(RecyclerTest, LendsReturnedObjectsAgainUpToItsSpares) {
  int made = 0;
  Recycler<int> recycler([&] { return std::make_unique<int>(++made); }, 2);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(*recycler.Take(), 1);
  {
    const auto a = recycler.Take(), b = recycler.Take(), c = recycler.Take();
    EXPECT_EQ(made, 3);
  }
  const auto a = recycler.Take(), b = recycler.Take(), c = recycler.Take();
  EXPECT_EQ(made, 4);
}

TEST(RecyclerTest, WhatItLentMayOutliveIt) {
  auto recycler = std::make_unique<Recycler<int>>([] { return std::make_unique<int>(5); }, 2);
  const auto taken = recycler->Take();
  recycler = nullptr;
  EXPECT_EQ(*taken, 5);
}

}  // namespace
}  // namespace paceline::store
