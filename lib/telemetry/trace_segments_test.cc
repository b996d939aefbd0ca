#include "lib/telemetry/trace_segments.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/files/segments.h"

namespace paceline::telemetry {
namespace {

constexpr uint64_t kBytesMax = 8000;

class TraceSegmentsTest : public ::testing::Test {
 protected:
  TraceSegmentsTest() {
    std::string pattern = ::testing::TempDir() + "segments-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~TraceSegmentsTest() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return folder_ + "/policy.trace"; }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      bytes += entry.file_size();
    return bytes;
  }
  // As TraceRecorder does.
  static void Write(TraceSegments& trace, int first, int last) {
    for (int i = first; i < last; ++i) {
      if (trace.IsFull()) trace.Begin({fmt::format("stands in for all before {}", i)});
      trace.Append(fmt::format("event {}", i));
      trace.Flush();
    }
  }

  std::string folder_;
};

TEST_F(TraceSegmentsTest, HoldsItsBoundAndKeepsTheFirstAndTheNewest) {
  const auto trace = TraceSegments::Open(Path(), kBytesMax).value();
  for (int i = 0; i < 3000; ++i) {
    Write(*trace, i, i + 1);
    ASSERT_LE(Bytes(), kBytesMax + 100);
  }
  const std::vector<uint64_t> there = files::SegmentNumbers(Path());
  ASSERT_EQ(there.size(), 7u);
  EXPECT_EQ(there.back(), there.front() + 6) << "the newest";
  const std::string text = files::ReadSegments(Path()).value();
  EXPECT_TRUE(text.starts_with("event 0\nevent 1\n"));
  EXPECT_TRUE(text.ends_with("event 2999\n"));
  EXPECT_NE(text.find(fmt::format("gap 1..{}\nstands in for all before ", there.front() - 1)),
            std::string::npos);
}

TEST_F(TraceSegmentsTest, AnotherProcessGoesOnWhereTheOneBeforeWas) {
  std::string whole;
  for (int life = 0; life < 5; ++life) {
    const auto trace = TraceSegments::Open(Path(), 1 << 20).value();
    Write(*trace, 100 * life, 100 * (life + 1));
  }
  for (int i = 0; i < 500; ++i) whole += fmt::format("event {}\n", i);
  EXPECT_EQ(files::ReadSegments(Path()).value(), whole);
  for (int life = 0; life < 5; ++life) {
    const auto trace = TraceSegments::Open(Path(), kBytesMax).value();
    Write(*trace, 100 * life, 100 * (life + 1));
  }
  EXPECT_LE(Bytes(), kBytesMax + 100 + whole.size()) << "the first was larger before";
}

TEST_F(TraceSegmentsTest, GivesItsRoomToWhatNeedsItMore) {
  const auto trace = TraceSegments::Open(Path(), kBytesMax).value();
  Write(*trace, 0, 1000);
  trace->GiveRoom();
  EXPECT_TRUE(trace->is_off());
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry, error).string();
    EXPECT_EQ(target.find(folder_), std::string::npos) << "a file that is open keeps its bytes";
  }
  Write(*trace, 1000, 2000);
  trace->GiveRoom();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TraceSegmentsTest, AFaultTurnsItOffAndNothingElse) {
  const auto trace = TraceSegments::Open(Path(), kBytesMax).value();
  std::filesystem::create_directory(files::SegmentPath(Path(), 1));
  EXPECT_EQ(trace->is_off(), false);
  Write(*trace, 0, 1000);
  EXPECT_TRUE(trace->is_off());
}

}  // namespace
}  // namespace paceline::telemetry
