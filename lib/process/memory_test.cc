#include "lib/process/memory.h"

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::process {
namespace {

// Of a line of /proc/self/status, in KiB.
long StatusKib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
  }
  return -1;
}

TEST(Memory, CodeComesBackWhenItIsNeeded) {
  const long before = StatusKib("RssFile");
  ASSERT_GT(before, 0);
  KeepToWhatIsUsed();
  EXPECT_LT(StatusKib("RssFile"), before);
  EXPECT_EQ(std::to_string(6 * 7), "42");
}

TEST(Memory, FreedBlocksGoBackThoughOthersStay) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring a heap of their own";
#endif
  constexpr int kBlocks = 20'000;
  constexpr size_t kBytes = 2'000;  // Small enough to come from the heap, not from mmap.
  std::vector<std::unique_ptr<std::string>> blocks;
  for (int i = 0; i < kBlocks; ++i) blocks.push_back(std::make_unique<std::string>(kBytes, 'x'));
  const auto last = std::make_unique<std::string>(kBytes, 'y');  // Holds the end of the heap.
  blocks.clear();
  const long before = StatusKib("RssAnon");
  KeepToWhatIsUsed();
  EXPECT_LT(StatusKib("RssAnon"), before - 20'000);
  EXPECT_EQ(last->size(), kBytes);
}

}  // namespace
}  // namespace paceline::process
