#include "tests/support/shell.h"

#include <cstdio>

#include <gtest/gtest.h>
#include <sys/wait.h>

namespace paceline::testing {

Said TryShell(const std::string& command) {
  std::FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  Said said;
  char bytes[4096];
  while (const size_t size = std::fread(bytes, 1, sizeof bytes, pipe))
    said.text.append(bytes, size);
  const int status = pclose(pipe);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return said;
}

std::string Shell(const std::string& command) {
  Said said = TryShell(command);
  EXPECT_EQ(said.code, 0) << command << "\n" << said.text;
  return said.text;
}

}  // namespace paceline::testing
