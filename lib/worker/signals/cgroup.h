// Defines Cgroup: what the kernel has given this process's control group, and how much of it is
// used. Version 2, or version 1 where that is what there is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/base/time.h"

namespace paceline::worker {

// Where the kernel's files are; other folders in tests.
struct KernelPaths {
  std::string proc = "/proc";
  std::string cgroup = "/sys/fs/cgroup";
};

// Each is absent where it cannot be read; totals grow from some time in the past on.
struct CgroupReading {
  std::optional<double> cores_max;      // Of the quota; absent: unlimited.
  std::optional<Duration> throttled;    // Time in which it was stopped, its quota being used up.
  std::optional<Duration> pressed;      // Time in which some task of it waited for a CPU.
  std::optional<uint64_t> memory_max;   // Bytes; absent: unlimited.
  std::optional<uint64_t> memory_used;  // Bytes that cannot be taken back at once.
};

class Cgroup {
 public:
  // Finds this process's group. Without any, readings are empty.
  explicit Cgroup(const KernelPaths& paths);

  CgroupReading Read() const;

 private:
  CgroupReading ReadV2() const;
  CgroupReading ReadV1() const;

  std::string unified_;       // Folder of version 2; empty if there is none.
  std::string cpu_, memory_;  // Folders of version 1.
};

}  // namespace paceline::worker
