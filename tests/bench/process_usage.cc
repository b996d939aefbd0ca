#include "tests/bench/process_usage.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::bench {

ProcessUsage UsageOf(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::string line;
  std::getline(stat, line);
  // Fields are counted behind the name, which may hold anything but ends with the last ')'.
  std::istringstream fields(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0, pages = 0;
  fields >> user >> system;
  for (int i = 0; i < 8; ++i) fields >> skipped;
  fields >> pages;
  return {.cpu_seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)),
          .resident_mb = pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6};
}

}  // namespace paceline::bench
