#include "cli/local/cpu_use.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include "lib/process/read_file.h"
#include "lib/telemetry/clock.h"

namespace paceline::local {
namespace {

struct ProcessStat {
  int64_t parent = 0;
  Duration cpu{};
};

// Of /proc/PID/stat (proc(5)). The name, in parentheses, may hold anything: what counts stands
// behind the last of them.
std::optional<ProcessStat> ParseStat(const std::string& text) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  ProcessStat stat;
  int64_t user = 0;
  int64_t system = 0;
  fields >> skipped >> stat.parent;  // Fields 3 and 4: state, parent.
  for (int i = 5; i < 14; ++i) fields >> skipped;
  fields >> user >> system;  // Fields 14 and 15, in ticks.
  if (!fields) return std::nullopt;
  stat.cpu =
      Seconds(static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK)));
  return stat;
}

Duration ToDuration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

StatusOr<Duration> CpuTimeOfChildren() {
  rusage ended{};
  if (getrusage(RUSAGE_CHILDREN, &ended) != 0) return Internal("cannot ask for CPU times");
  std::error_code error;
  Duration sum = ToDuration(ended.ru_utime) + ToDuration(ended.ru_stime);
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (!std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c) != 0; })) continue;
    // One that has ended meanwhile is no error.
    const StatusOr<std::string> text = process::ReadFile(entry.path().string() + "/stat");
    if (!text.ok()) continue;
    const std::optional<ProcessStat> stat = ParseStat(*text);
    if (stat && stat->parent == getpid()) sum += stat->cpu;
  }
  if (error) return Internal("cannot read /proc: {}", error.message());
  return sum;
}

void CpuMeter::Look() {
  const StatusOr<Duration> cpu = CpuTimeOfChildren();
  if (!cpu.ok()) return;
  last_ = Reading{telemetry::SteadyNow(), *cpu};
  if (!first_) first_ = last_;
}

std::optional<double> CpuMeter::cores() const {
  if (!first_ || last_->at <= first_->at) return std::nullopt;
  return ToSeconds(std::max(last_->cpu - first_->cpu, Duration::zero())) /
         ToSeconds(last_->at - first_->at);
}

}  // namespace paceline::local
