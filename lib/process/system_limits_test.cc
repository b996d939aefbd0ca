#include "lib/process/system_limits.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/check.h"
#include "lib/base/testing/failing_threads.h"
#include "lib/process/exit.h"
#include "lib/process/thread.h"

namespace paceline::process {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;

TEST(Descriptors, AreAsManyAsTheProcessMayHave) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  RaiseDescriptorLimit();
  rlimit after{};
  getrlimit(RLIMIT_NOFILE, &after);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
}

TEST(Descriptors, TooFewAreSaidBeforeAnybodyWaits) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 63, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Status status = CheckDescriptorLimit();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(ExitCodeFor(status), kExitCannotWorkHere);
  EXPECT_EQ(Message(status),
            "the limit of open files is 63, want at least 64: raise it (ulimit -n)");
  EXPECT_TRUE(CheckDescriptorLimit().ok());
}

TEST(StartThread, IsAnErrorWhereThereCanBeNone) {
  const paceline::testing::FailingThreads none(0);
  const Status status = StartThread([] {}).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(status),
              HasSubstr("cannot start a thread: Resource temporarily unavailable"));
  EXPECT_THAT(Message(status), HasSubstr("pids limit"));
}

// What the process that ended so left as its last word.
class LimitTest : public ::testing::Test {
 protected:
  LimitTest() : path_(::testing::TempDir() + fmt::format("limit-{}", getpid())) {}
  ~LimitTest() override { std::filesystem::remove(path_); }

  std::string LastWord() const {
    std::stringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  const std::string path_;
};

TEST_F(LimitTest, AThreadThatCannotBeStartedIsTheLastWord) {
  EXPECT_EXIT(
      {
        SayWhichLimit(path_);
        std::thread([] {
          const paceline::testing::FailingThreads none(0);
          std::thread([] {}).join();
        }).join();
      },
      ExitedWithCode(kExitCannotWorkHere), "cannot start a thread");
  EXPECT_THAT(LastWord(), HasSubstr("ulimit -u"));
}

TEST_F(LimitTest, SoIsMemoryThatThereIsNot) {
  EXPECT_EXIT(
      {
        SayWhichLimit(path_);
        std::thread([] { throw std::bad_alloc(); }).join();
      },
      ExitedWithCode(kExitCannotWorkHere), "out of memory");
  EXPECT_THAT(LastWord(), HasSubstr("out of memory"));
}

void TakeAllDescriptors() {
  const int next = dup(0);
  close(next);
  rlimit files{};
  files.rlim_cur = files.rlim_max = static_cast<rlim_t>(next);
  setrlimit(RLIMIT_NOFILE, &files);
}

// Its last word takes one, too.
TEST_F(LimitTest, SoIsADescriptorThatThereIsNot) {
  EXPECT_EXIT(
      {
        SayWhichLimit(path_);
        TakeAllDescriptors();
        std::thread([] { CheckGiven(epoll_create1(0) >= 0, "epoll"); }).join();
      },
      ExitedWithCode(kExitCannotWorkHere),
      "epoll: Too many open files: see the limit of open files");
  EXPECT_THAT(LastWord(), HasSubstr("ulimit -n"));
}

TEST_F(LimitTest, OtherExceptionsEndItAsBefore) {
  EXPECT_EXIT(
      {
        SayWhichLimit(path_);
        std::thread([] { throw std::runtime_error("odd"); }).join();
      },
      KilledBySignal(SIGABRT), "odd");
  EXPECT_EQ(LastWord(), "");
}

}  // namespace
}  // namespace paceline::process
