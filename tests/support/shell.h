// Runs commands as a user would type them, in tests.
#pragma once

#include <string>

namespace paceline::testing {

struct Said {
  int code = 0;
  std::string text;  // stdout and stderr.
};
Said TryShell(const std::string& command);

// What it printed; a failure of it fails the test.
std::string Shell(const std::string& command);

}  // namespace paceline::testing
