#include "lib/rpc/bulk/allocator.h"

#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#ifdef __GLIBC__
#include <malloc.h>

namespace paceline::rpc {
namespace {

TEST(TuneAllocator, FreedMemoryIsKept) {
  TuneAllocator();
  const struct mallinfo2 before = mallinfo2();
  { std::vector<char> large(64 << 20, 1); }
  const struct mallinfo2 after = mallinfo2();
  if (after.arena == 0) GTEST_SKIP() << "another allocator is in place";
  EXPECT_EQ(after.hblks, before.hblks);
  EXPECT_GE(after.fordblks, size_t{64} << 20);  // Free, and still ours.
}

}  // namespace
}  // namespace paceline::rpc
#endif
