#include "lib/process/memory.h"

#include <fstream>
#include <string>

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

}  // namespace
}  // namespace paceline::process
