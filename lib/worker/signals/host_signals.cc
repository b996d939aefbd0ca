#include "lib/worker/signals/host_signals.h"

#include <algorithm>
#include <string>
#include <utility>

#include <unistd.h>

#include "lib/worker/signals/kernel_files.h"

namespace paceline::worker {
namespace {

constexpr Duration kLeastInterval = std::chrono::milliseconds(50);
constexpr double kBytesPerKilobyte = 1024;

// Of a share of time: a total's growth over the interval.
std::optional<double> ShareOf(const std::optional<Duration>& before,
                              const std::optional<Duration>& now, double seconds) {
  if (!before || !now || *now < *before) return std::nullopt;
  return std::clamp(ToSeconds(*now - *before) / seconds, 0.0, 1.0);
}

}  // namespace

HostSignals::HostSignals(const KernelPaths& paths, GpuMemory gpu_memory)
    : paths_(paths),
      gpu_memory_(std::move(gpu_memory)),
      cgroup_(paths),
      ticks_per_second_(static_cast<double>(sysconf(_SC_CLK_TCK))) {}

sync::Signals HostSignals::Read(Time now) {
  if (before_ && now - before_->at < kLeastInterval) return said_;
  Reading reading = Take(now);
  said_ = {};
  if (before_) said_.cpu_available = CpuSince(*before_, reading);
  said_.memory_available = gpu_memory_ ? gpu_memory_() : std::nullopt;
  if (!said_.memory_available) said_.memory_available = MemoryOf(reading);
  before_ = std::move(reading);
  return said_;
}

HostSignals::Reading HostSignals::Take(Time now) const {
  Reading reading{.at = now, .cgroup = cgroup_.Read(), .idle = {}, .total = {}, .own = {}};
  const std::string stat = ReadKernelFile(paths_.proc + "/stat").value_or("");
  // "cpu user nice system idle iowait irq softirq steal guest ..."; guests are in user already.
  const auto words = SplitWords(std::string_view(stat).substr(0, stat.find('\n')));
  constexpr size_t kIdle = 4, kWaiting = 5, kSteal = 8;
  if (words.size() > kSteal && words[0] == "cpu") {
    double idle = 0, total = 0;
    for (size_t i = 1; i <= kSteal; ++i) {
      const auto ticks = static_cast<double>(ReadNumber(words[i]).value_or(0));
      total += ticks;
      if (i == kIdle || i == kWaiting) idle += ticks;
    }
    reading.idle = idle / ticks_per_second_;
    reading.total = total / ticks_per_second_;
  }
  // "pid (name) state ..."; the name may hold anything, and the times are 12th and 13th behind it.
  const std::string self = ReadKernelFile(paths_.proc + "/self/stat").value_or("");
  const auto fields = SplitWords(std::string_view(self).substr(self.rfind(')') + 1));
  constexpr size_t kUser = 11, kSystem = 12;
  if (fields.size() > kSystem) {
    reading.own = static_cast<double>(ReadNumber(fields[kUser]).value_or(0) +
                                      ReadNumber(fields[kSystem]).value_or(0)) /
                  ticks_per_second_;
  }
  for (size_t at = stat.find("\ncpu"); at != std::string::npos; at = stat.find("\ncpu", at + 1))
    ++reading.cores;
  return reading;
}

std::optional<double> HostSignals::CpuSince(const Reading& before, const Reading& now) const {
  const double seconds = ToSeconds(now.at - before.at);
  std::optional<double> least;
  const auto consider = [&least](double share) { least = std::min(least.value_or(1), share); };
  const CgroupReading &old = before.cgroup, &current = now.cgroup;
  if (before.idle && now.idle && now.cores > 0 && *now.total > *before.total) {
    const double cores = std::min(current.cores_max.value_or(now.cores), now.cores);
    const double idle = now.cores * (*now.idle - *before.idle) / (*now.total - *before.total);
    const double own = before.own && now.own ? (*now.own - *before.own) / seconds : 0;
    consider(std::clamp((idle + own) / cores, 0.0, 1.0));
  }
  if (const auto throttled = ShareOf(old.throttled, current.throttled, seconds))
    consider(1 - *throttled);
  if (const auto pressed = ShareOf(old.pressed, current.pressed, seconds)) consider(1 - *pressed);
  return least;
}

std::optional<double> HostSignals::MemoryOf(const Reading& now) const {
  std::optional<double> least;
  const std::string meminfo = ReadKernelFile(paths_.proc + "/meminfo").value_or("");
  if (const auto kilobytes = FindNumber(meminfo, "MemAvailable:"))
    least = static_cast<double>(*kilobytes) * kBytesPerKilobyte;
  if (now.cgroup.memory_max && now.cgroup.memory_used) {
    const double left =
        static_cast<double>(*now.cgroup.memory_max) - static_cast<double>(*now.cgroup.memory_used);
    least = std::min(least.value_or(left), std::max(0.0, left));
  }
  return least;
}

}  // namespace paceline::worker
