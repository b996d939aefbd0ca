#include "lib/worker/signals/cgroup.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "lib/worker/signals/kernel_files.h"

namespace paceline::worker {
namespace {

// Version 1 tells "unlimited" as a number close to the largest.
constexpr uint64_t kUnlimitedV1 = uint64_t{1} << 60;

std::optional<Duration> Microseconds(std::optional<uint64_t> count) {
  if (!count) return std::nullopt;
  return std::chrono::microseconds(static_cast<int64_t>(*count));
}

std::optional<Duration> Nanoseconds(std::optional<uint64_t> count) {
  if (!count) return std::nullopt;
  return Duration(static_cast<int64_t>(*count));
}

// The group's own folder, or, in a container that sees its group as the root, the mount itself.
std::string FolderOf(const std::string& mount, std::string_view group, const char* file) {
  std::error_code error;
  const std::string own = mount + std::string(group == "/" ? "" : group);
  for (const std::string& folder : {own, mount}) {
    if (std::filesystem::exists(folder + "/" + file, error)) return folder;
  }
  return "";
}

bool Lists(std::string_view controllers, std::string_view name) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == name) return true;
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in microseconds.
std::optional<Duration> Pressure(const std::string& path) {
  const std::optional<std::string> text = ReadKernelFile(path);
  if (!text) return std::nullopt;
  constexpr std::string_view kTotal = "total=";
  for (const std::string_view word : SplitWords(text->substr(0, text->find('\n')))) {
    if (word.starts_with(kTotal)) return Microseconds(ReadNumber(word.substr(kTotal.size())));
  }
  return std::nullopt;
}

// Pages of files go when somebody wants memory. `prefix` is of their names in memory.stat.
std::optional<uint64_t> WithoutCache(std::optional<uint64_t> used, const std::string& stat_path,
                                     const std::string& prefix) {
  if (!used) return std::nullopt;
  const std::string stat = ReadKernelFile(stat_path).value_or("");
  const uint64_t cache = FindNumber(stat, prefix + "inactive_file").value_or(0) +
                         FindNumber(stat, prefix + "active_file").value_or(0);
  return *used - std::min(*used, cache);
}

}  // namespace

// Lines are "hierarchy:controllers:group"; version 2 has hierarchy 0 and no controllers.
Cgroup::Cgroup(const KernelPaths& paths) {
  const std::string text = ReadKernelFile(paths.proc + "/self/cgroup").value_or("");
  for (std::string_view rest = text; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty()) unified_ = FolderOf(paths.cgroup, group, "cpu.stat");
    if (Lists(controllers, "cpu")) cpu_ = FolderOf(paths.cgroup + "/cpu", group, "cpu.stat");
    if (Lists(controllers, "memory"))
      memory_ = FolderOf(paths.cgroup + "/memory", group, "memory.usage_in_bytes");
  }
}

CgroupReading Cgroup::Read() const {
  // A mixed system mounts an empty version 2 beside the version 1 that counts.
  const bool is_v1 = !cpu_.empty() || !memory_.empty();
  if (is_v1) return ReadV1();
  return unified_.empty() ? CgroupReading{} : ReadV2();
}

CgroupReading Cgroup::ReadV2() const {
  CgroupReading reading;
  const auto at = [this](const char* file) { return unified_ + "/" + file; };
  if (const auto stat = ReadKernelFile(at("cpu.stat")))
    reading.throttled = Microseconds(FindNumber(*stat, "throttled_usec"));
  if (const auto quota = ReadKernelFile(at("cpu.max"))) {
    const auto words = SplitWords(*quota);
    const auto most = words.empty() ? std::nullopt : ReadNumber(words[0]);
    const auto period = words.size() < 2 ? std::nullopt : ReadNumber(words[1]);
    if (most && period && *period > 0)
      reading.cores_max = static_cast<double>(*most) / static_cast<double>(*period);
  }
  reading.pressed = Pressure(at("cpu.pressure"));
  reading.memory_max = ReadNumberFile(at("memory.max"));
  reading.memory_used = WithoutCache(ReadNumberFile(at("memory.current")), at("memory.stat"), "");
  return reading;
}

CgroupReading Cgroup::ReadV1() const {
  CgroupReading reading;
  if (const auto stat = ReadKernelFile(cpu_ + "/cpu.stat"))
    reading.throttled = Nanoseconds(FindNumber(*stat, "throttled_time"));
  const auto most = ReadNumberFile(cpu_ + "/cpu.cfs_quota_us");  // -1: unlimited.
  const auto period = ReadNumberFile(cpu_ + "/cpu.cfs_period_us");
  if (most && period && *period > 0)
    reading.cores_max = static_cast<double>(*most) / static_cast<double>(*period);
  reading.memory_max = ReadNumberFile(memory_ + "/memory.limit_in_bytes");
  if (reading.memory_max >= kUnlimitedV1) reading.memory_max.reset();
  reading.memory_used = WithoutCache(ReadNumberFile(memory_ + "/memory.usage_in_bytes"),
                                     memory_ + "/memory.stat", "total_");
  return reading;
}

}  // namespace paceline::worker
