#include "lib/store/region.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace paceline::store {
namespace {

constexpr size_t kSize = 70'001;  // No whole pages.

void* Map(const Region& region, int protection) {
  return ::mmap(nullptr, PagesFor(kSize), protection, MAP_SHARED, region.descriptor(), 0);
}

TEST(RegionTest, IsZeroedAlignedAndOfItsSize) {
  for (const Region::Others others :
       {Region::Others::kNobody, Region::Others::kRead, Region::Others::kWrite}) {
    const auto region = Region::Shareable(kSize, others).value();
    ASSERT_EQ(region->bytes().size(), kSize);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(region->bytes().data()) % 4096, 0u);
    for (const std::byte byte : region->bytes()) ASSERT_EQ(byte, std::byte{0});
  }
  EXPECT_EQ(Region::Private(kSize)->descriptor(), -1);
  EXPECT_EQ(Region::Shareable(0, Region::Others::kWrite).value()->descriptor(), -1);
}

TEST(RegionTest, AnotherMappingSeesWhatIsWritten) {
  const auto region = Region::Shareable(kSize, Region::Others::kRead).value();
  region->bytes()[kSize - 1] = std::byte{7};
  void* const other = Map(*region, PROT_READ);
  ASSERT_NE(other, MAP_FAILED);
  EXPECT_EQ(static_cast<std::byte*>(other)[kSize - 1], std::byte{7});
  region->bytes()[0] = std::byte{8};
  EXPECT_EQ(static_cast<std::byte*>(other)[0], std::byte{8});
  ::munmap(other, PagesFor(kSize));
}

TEST(RegionTest, OthersWriteOnlyWhereTheyMay) {
  const auto read = Region::Shareable(kSize, Region::Others::kRead).value();
  EXPECT_EQ(Map(*read, PROT_READ | PROT_WRITE), MAP_FAILED);
  EXPECT_EQ(::pwrite(read->descriptor(), "x", 1, 0), -1);
  const auto write = Region::Shareable(kSize, Region::Others::kWrite).value();
  void* const other = Map(*write, PROT_READ | PROT_WRITE);
  ASSERT_NE(other, MAP_FAILED);
  static_cast<std::byte*>(other)[3] = std::byte{9};
  EXPECT_EQ(write->bytes()[3], std::byte{9});
  ::munmap(other, PagesFor(kSize));
}

// Or whoever holds the descriptor could take a page away, and the next access would be a signal.
TEST(RegionTest, NobodyMakesItSmallerOrLarger) {
  for (const Region::Others others : {Region::Others::kRead, Region::Others::kWrite}) {
    const auto region = Region::Shareable(kSize, others).value();
    EXPECT_EQ(::ftruncate(region->descriptor(), 0), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_EQ(::ftruncate(region->descriptor(), 1 << 20), -1);
    EXPECT_EQ(::fcntl(region->descriptor(), F_ADD_SEALS, F_SEAL_WRITE), -1) << "or freeze it";
  }
}

TEST(RegionTest, NoTwoHaveTheSameNumber) {
  const auto first = Region::Private(1);
  const auto second = Region::Shareable(1, Region::Others::kRead).value();
  EXPECT_GT(first->id(), 0u);
  EXPECT_GT(second->id(), first->id());
}

TEST(RegionTest, WithoutADescriptorItSaysSo) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto region = Region::Shareable(kSize, Region::Others::kRead);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.status().code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace paceline::store
