#include "lib/base/size_text.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(SizeText, IsInTheUnitOfWhichThereIsOneAtLeast) {
  const struct {
    uint64_t bytes;
    const char* text;
  } kCases[] = {
      {0, "0 bytes"},
      {1, "1 byte"},
      {999, "999 bytes"},
      {1000, "1.0 kB"},
      {12'345, "12.3 kB"},
      {999'949, "999.9 kB"},
      {999'950, "1.0 MB"},
      {48'000'000, "48.0 MB"},
      {999'950'000, "1.0 GB"},
      {1'500'000'000, "1.5 GB"},
      {4'000'000'000'000, "4000.0 GB"},
  };
  for (const auto& one : kCases) EXPECT_EQ(SizeText(one.bytes), one.text) << one.bytes;
}

}  // namespace
}  // namespace paceline
