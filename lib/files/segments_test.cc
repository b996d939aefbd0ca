#include "lib/files/segments.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::files {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SegmentsTest : public ::testing::Test {
 protected:
  SegmentsTest() {
    std::string pattern = ::testing::TempDir() + "segments-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~SegmentsTest() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return folder_ + "/a.trace"; }
  void Write(uint64_t number, const std::string& text) const {
    std::ofstream(SegmentPath(Path(), number), std::ios::binary) << text;
  }

  std::string folder_;
};

TEST_F(SegmentsTest, OneFileIsItself) {
  Write(0, "one\ntwo");
  EXPECT_EQ(ReadSegments(Path()).value(), "one\ntwo");
  EXPECT_THAT(SegmentNumbers(Path()), IsEmpty());
}

TEST_F(SegmentsTest, AllAreReadInTheOrderOfTheirNumbers) {
  Write(0, "0\n");
  for (const int number : {2, 10, 1}) Write(number, std::to_string(number) + "\n");
  for (int number = 3; number < 10; ++number) Write(number, "");
  for (const char* const other : {".x", ".3a", ".0", ".", "-2", ".-1"})
    std::ofstream(Path() + other) << "no segment\n";
  EXPECT_THAT(SegmentNumbers(Path()), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_EQ(ReadSegments(Path()).value(), "0\n1\n2\n10\n");
}

TEST_F(SegmentsTest, WhereOneIsMissingTheNextOnesSnapshotStandsInForIt) {
  Write(0, "begin\ncut o");
  Write(3, "#snapshot policy\n#snapshot join\nthree\n");
  Write(4, "#snapshot policy\nfour\n");
  Write(7, "#snapshot policy\nseven");
  EXPECT_EQ(ReadSegments(Path()).value(),
            "begin\ngap 1..2\npolicy\njoin\n#snapshot policy\n#snapshot join\nthree\n"
            "#snapshot policy\nfour\ngap 5..6\npolicy\n#snapshot policy\nseven");
}

TEST_F(SegmentsTest, WithoutItsBeginningThereIsNone) {
  Write(1, "one\n");
  const Status status = ReadSegments(Path()).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(status), HasSubstr("cannot read " + Path()));
}

}  // namespace
}  // namespace paceline::files
