#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/check.h"
#include "lib/process/crash_report.h"
#include "lib/process/exit.h"
#include "lib/process/read_file.h"
#include "lib/process/termination.h"

namespace paceline::process {
namespace {

using ::testing::AllOf;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::KilledBySignal;

TEST(ExitCodes, SayWhetherStartingAgainMayHelp) {
  EXPECT_EQ(ExitCodeFor(OkStatus()), 0);
  EXPECT_EQ(ExitCodeFor(Unavailable("gone")), 1);
  EXPECT_EQ(ExitCodeFor(Internal("odd")), 1);
  EXPECT_EQ(ExitCodeFor(InvalidArgument("shape")), 2);
  EXPECT_EQ(ExitCodeFor(PermissionDenied("refused")), 2);
  EXPECT_EQ(ExitCodeFor(CannotWorkHere(PermissionDenied("expelled"))), 3);
  EXPECT_EQ(ExitCodeFor(CannotWorkHere(OkStatus())), 0);
}

std::string PathFor(const char* purpose) {
  return std::filesystem::temp_directory_path() / (purpose + std::to_string(getpid()));
}

TEST(EndProcess, LeavesItsLastWordInTheFile) {
  const std::string path = PathFor("last-word-");
  EXPECT_EXIT(EndProcess(InvalidArgument("shape differs: got {}, want {}", 1, 2), "test", path),
              ExitedWithCode(2), "^test: shape differs: got 1, want 2\n$");
  EXPECT_EQ(*ReadFile(path), "shape differs: got 1, want 2\n");
  std::filesystem::remove(path);
  EXPECT_EXIT(EndProcess(OkStatus(), "test", path), ExitedWithCode(0), "^$");
  EXPECT_FALSE(std::filesystem::exists(path));
}

// Threads of libraries still run then, on static objects that something of atexit destroys.
TEST(LeaveProcess, FlushesButDestroysNothing) {
  const std::string path = PathFor("flushed-");
  const auto leave = [&path] {
    std::atexit([] { std::fputs("destroyed", stderr); });
    std::fputs("all of it", std::fopen(path.c_str(), "w"));
    LeaveProcess(3);
  };
  EXPECT_EXIT(leave(), ExitedWithCode(3), "^$");
  EXPECT_EQ(*ReadFile(path), "all of it");
  std::filesystem::remove(path);
}

[[gnu::noinline]] int CompareAndCrash(const void* one, const void*) {
  raise(SIGSEGV);
  return *static_cast<const int*>(one);
}

[[gnu::noinline]] void SortAndCrash() {
  int numbers[] = {2, 1};
  std::qsort(numbers, 2, sizeof numbers[0], CompareAndCrash);
}

// Through frames of a library, which keeps no frame pointers.
TEST(ReportCrashes, NamesTheFunctionsOfAnyThread) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under a sanitizer, whose own report takes this one's place";
#endif
  const auto crash = [] {
    ReportCrashes("process_test");
    std::thread(SortAndCrash).join();
  };
  EXPECT_EXIT(crash(), KilledBySignal(SIGSEGV),
              AllOf(HasSubstr("SIGSEGV received"), HasSubstr("CompareAndCrash"),
                    HasSubstr("SortAndCrash"), HasSubstr("/libc.so.6(qsort_r+")));
}

TEST(ReportCrashes, SaysWhichCheckFailedAndWhere) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under a sanitizer, whose own report takes this one's place";
#endif
  const auto fail = [] {
    ReportCrashes("process_test");
    PACELINE_CHECK(getpid() < 0, "process {}", "of the test");
  };
  EXPECT_EXIT(fail(), KilledBySignal(SIGABRT),
              AllOf(HasSubstr("process of the test"), HasSubstr("SIGABRT received"),
                    HasSubstr("CheckFailed")));
}

TEST(ReportCrashes, LeavesTerminationAlone) {
  const auto end = [] {
    ReportCrashes("process_test");
    raise(SIGTERM);
  };
  EXPECT_EXIT(end(), KilledBySignal(SIGTERM), "^$");
}

TEST(ReadFile, NamesWhatCannotBeRead) {
  EXPECT_EQ(Message(ReadFile("/no/such/file").status()),
            "cannot read /no/such/file: No such file or directory");
  EXPECT_EQ(ReadFile("/").status().code(), StatusCode::kInvalidArgument);
}

TEST(TerminationSignals, BecomeOneCall) {
  BlockTerminationSignals();
  std::promise<void> asked;
  TerminationSignals signals([&] { asked.set_value(); });
  kill(getpid(), SIGTERM);
  EXPECT_EQ(asked.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

}  // namespace
}  // namespace paceline::process
