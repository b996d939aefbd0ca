#include "tests/bench/process_usage.h"

#include <ctime>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>

namespace paceline::bench {

namespace {

// To the nanosecond; /proc counts in hundredths of a second, which is a fifth of what a job of a
// hundred pods costs.
double CpuSecondsOf(pid_t process) {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

}  // namespace

ProcessUsage UsageOf(pid_t process) {
  std::ifstream statm(fmt::format("/proc/{}/statm", process));
  double all_pages = 0, resident_pages = 0;
  statm >> all_pages >> resident_pages;
  return {.cpu_seconds = CpuSecondsOf(process),
          .resident_mb = resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6};
}

}  // namespace paceline::bench
