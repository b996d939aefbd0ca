#include "lib/telemetry/trace_file.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace paceline::telemetry {
namespace {

class TraceFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "trace-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path() const { return folder_ + "/policy.trace"; }
  std::string Contents() const {
    std::ifstream file(Path());
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string folder_;
};

TEST_F(TraceFileTest, LinesAreOnDiskAfterClosing) {
  {
    auto trace = TraceFile::Open(Path());
    ASSERT_TRUE(trace.ok()) << trace.status();
    (*trace)->Append("push w3 based-on=v1");
    (*trace)->Append("");
    EXPECT_EQ(Contents(), "");
  }
  EXPECT_EQ(Contents(), "push w3 based-on=v1\n\n");
}

TEST_F(TraceFileTest, FlushWritesAtOnce) {
  auto trace = TraceFile::Open(Path());
  ASSERT_TRUE(trace.ok());
  (*trace)->Append("a");
  (*trace)->Flush();
  (*trace)->Flush();
  EXPECT_EQ(Contents(), "a\n");
}

TEST_F(TraceFileTest, AppendsToWhatIsThere) {
  std::ofstream(Path()) << "old\n";
  TraceFile::Open(Path()).value()->Append("new");
  EXPECT_EQ(Contents(), "old\nnew\n");
}

TEST_F(TraceFileTest, AFullBufferIsWrittenWithoutFlush) {
  auto trace = TraceFile::Open(Path());
  ASSERT_TRUE(trace.ok());
  const std::string line(1023, 'x');
  for (int i = 0; i < 100; ++i) (*trace)->Append(line);
  EXPECT_GE(Contents().size(), 64 * 1024);
}

TEST_F(TraceFileTest, AMissingFolderIsNamed) {
  const auto trace = TraceFile::Open(folder_ + "/no/policy.trace");
  EXPECT_EQ(trace.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(trace.status()), testing::HasSubstr(folder_ + "/no/policy.trace"));
}

TEST_F(TraceFileTest, AFolderIsNotATraceFile) {
  const auto trace = TraceFile::Open(folder_);
  EXPECT_EQ(trace.status().code(), StatusCode::kInvalidArgument);
}

TEST_F(TraceFileTest, AFullDiskTurnsItOffWithOneWarning) {
  auto trace = TraceFile::Open("/dev/full");
  ASSERT_TRUE(trace.ok()) << trace.status();
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    (*trace)->Append("lost");
    (*trace)->Flush();
  }
  EXPECT_TRUE((*trace)->is_off());
  trace->reset();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, testing::HasSubstr("trace file turned off"));
  EXPECT_THAT(log, testing::HasSubstr("No space left on device"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

}  // namespace
}  // namespace paceline::telemetry
