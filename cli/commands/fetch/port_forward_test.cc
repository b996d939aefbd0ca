#include "cli/commands/fetch/port_forward.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/eventually.h"

namespace paceline::commands {
namespace {

TEST(ForwardedPort, IsReadFromAWholeLine) {
  EXPECT_EQ(ForwardedPort("Forwarding from 127.0.0.1:43210 -> 7602\n"), 43210);
  EXPECT_EQ(ForwardedPort("W1129 deprecated\nForwarding from 127.0.0.1:1 -> 7602\nHandling"), 1);
  for (const char* text :
       {"", "Forwarding from 127.0.0.1:", "Forwarding from 127.0.0.1:432", "error: no",
        "Forwarding from [::1]:43210 -> 7602", "Forwarding from 127.0.0.1:0 -> 7602",
        "Forwarding from 127.0.0.1:70000 -> 7602"})
    EXPECT_EQ(ForwardedPort(text), std::nullopt) << text;
}

TEST(Complaint, IsTheEndOfWhatIsNoRoutine) {
  EXPECT_EQ(Complaint("Forwarding from 127.0.0.1:1 -> 2\nHandling connection for 1\n"), "");
  EXPECT_EQ(Complaint("Handling connection for 1\nE1129 an error occurred forwarding\n\n"
                      "Handling connection for 1\nerror: lost connection to pod\n"),
            "E1129 an error occurred forwarding; error: lost connection to pod");
  EXPECT_EQ(Complaint("a\nb\nc"), "b; c");
  EXPECT_EQ(Complaint(std::string(5000, 'x')).size(), 500u);
}

// Its port may be somebody else's once it has ended: the next one's is asked, and no error is told.
TEST(PortForward, AKubectlThatHasEndedIsReplaced) {
  const std::string folder = ::testing::TempDir() + "port_forward";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/kubectl") << "#!/bin/sh\n"
                                        "cd "
                                     << folder
                                     << "\n"
                                        "if [ -e first ]; then echo 'Forwarding from "
                                        "127.0.0.1:1002 -> 2'; exec /bin/sleep 600; fi\n"
                                        ": > first\n"
                                        "echo 'Forwarding from 127.0.0.1:1001 -> 2'\n"
                                        "until [ -e end ]; do /bin/sleep 0.01; done\n";
  std::filesystem::permissions(folder + "/kubectl", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH") == nullptr ? "" : std::getenv("PATH");
  setenv("PATH", folder.c_str(), 1);
  PortForward forward({.pod = "digits-ps-0", .port = 2, .name_space = "research"});
  EXPECT_EQ(forward.Open().value(), 1001);
  EXPECT_EQ(forward.Open().value(), 1001);
  std::ofstream(folder + "/end") << "";
  EXPECT_TRUE(paceline::testing::Eventually([&] { return forward.Open().value() == 1002; }));
  setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace paceline::commands
