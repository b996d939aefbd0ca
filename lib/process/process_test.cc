#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/process/exit.h"
#include "lib/process/read_file.h"
#include "lib/process/termination.h"

namespace paceline::process {
namespace {

TEST(ExitCodes, SayWhetherStartingAgainMayHelp) {
  EXPECT_EQ(ExitCodeFor(OkStatus()), 0);
  EXPECT_EQ(ExitCodeFor(Unavailable("gone")), 1);
  EXPECT_EQ(ExitCodeFor(Internal("odd")), 1);
  EXPECT_EQ(ExitCodeFor(InvalidArgument("shape")), 2);
  EXPECT_EQ(ExitCodeFor(PermissionDenied("refused")), 2);
}

TEST(EndProcess, LeavesItsLastWordInTheFile) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("last-word-" + std::to_string(getpid()));
  EXPECT_EQ(EndProcess(InvalidArgument("shape differs: got {}, want {}", 1, 2), "test", path), 2);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), "shape differs: got 1, want 2\n");
  std::filesystem::remove(path);
  EXPECT_EQ(EndProcess(OkStatus(), "test", path), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
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
