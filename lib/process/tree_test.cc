#include "lib/process/tree.h"

#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/testing/eventually.h"

namespace paceline::process {
namespace {

using paceline::testing::Eventually;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TreeOf, HasWhatIsMarkedWhatIsInTheGroupAndWhatDescends) {
  const std::vector<RunningProcess> processes = {
      {.pid = 9, .parent = 8, .group = 9},  // Cleared its environment, left its group.
      {.pid = 2, .parent = 1, .group = 2, .mark = "/tmp/a/w1/0/"},
      {.pid = 3, .parent = 1, .group = 3, .mark = "/tmp/a/w10/0/"},
      {.pid = 4, .parent = 1, .group = 2},  // Lost its parent.
      {.pid = 8, .parent = 2, .group = 8},
      {.pid = 5, .parent = 1, .group = 5},
  };
  EXPECT_THAT(TreeOf(processes, "/tmp/a/w1/0/", 0), ElementsAre(2, 8, 9));
  EXPECT_THAT(TreeOf(processes, "/tmp/a/w1/0/", 2), ElementsAre(2, 4, 8, 9));
  EXPECT_THAT(TreeOf(processes, "", 2), ElementsAre(2, 4, 8, 9));
  EXPECT_THAT(TreeOf(processes, "/tmp/a/", 0), ElementsAre(2, 3, 8, 9));
  EXPECT_THAT(TreeOf(processes, "", 0), IsEmpty()) << "an empty mark is nobody's";
}

TEST(SignalTree, FindsWhoHidesInOneWayOrTheOther) {
  const std::string mark = "/tree-test/" + std::to_string(getpid()) + "/";
  const std::string entry = std::string(kMarkVariable) + "=" + mark;
  const pid_t shell = fork();
  if (shell == 0) {
    setpgid(0, 0);
    // Three hide: in a session of their own, without parents, without an environment.
    execl("/usr/bin/env", "env", entry.c_str(), "sh", "-c",
          "setsid sleep 1000 & (sleep 1001 &) ; env -i sleep 1002 & sleep 1003", nullptr);
    _exit(127);
  }
  EXPECT_TRUE(Eventually([&] { return SignalTree(mark, shell, 0, 0) == 5; }));
  EXPECT_EQ(SignalTree(mark, shell, shell, 0), 4u);
  SignalTree(mark, shell, 0, SIGKILL);
  EXPECT_TRUE(Eventually([&] { return SignalTree(mark, shell, 0, SIGKILL) == 0; }));
  int status = 0;
  EXPECT_EQ(waitpid(shell, &status, 0), shell);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

}  // namespace
}  // namespace paceline::process
