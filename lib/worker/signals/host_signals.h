// Defines HostSignals: how much CPU and memory this worker could have at the moment, for the
// parameter server's prediction of its speed.
#pragma once

#include <functional>
#include <optional>

#include "lib/base/time.h"
#include "lib/sync/contract/event.h"
#include "lib/worker/signals/cgroup.h"

namespace paceline::worker {

// One owner at a time.
class HostSignals {
 public:
  // Free bytes of the GPU, which then are the memory that counts. May be null.
  using GpuMemory = std::function<std::optional<double>()>;

  explicit HostSignals(const KernelPaths& paths, GpuMemory gpu_memory = nullptr);

  // Of the time since the call before, on the steady clock; within 50 ms of it, what that one said:
  // the kernel counts in ticks. The first knows of no CPU.
  //
  // CPU: the least of three shares. What could be had of the worker's cores (its quota, or all):
  // those idle and those it used itself. The time it was not stopped for its quota. The time no
  // task of it waited for a core. Memory: bytes until the group's limit or the end of the node's.
  sync::Signals Read(Time now);

 private:
  struct Reading {
    Time at;
    CgroupReading cgroup;
    std::optional<double> idle, total;  // Seconds of all cores...
    std::optional<double> own;          // ...and of this process on them.
    double cores = 0;
  };
  Reading Take(Time now) const;
  std::optional<double> CpuSince(const Reading& before, const Reading& now) const;
  std::optional<double> MemoryOf(const Reading& now) const;

  KernelPaths paths_;
  GpuMemory gpu_memory_;
  Cgroup cgroup_;
  double ticks_per_second_;
  std::optional<Reading> before_;
  sync::Signals said_;
};

}  // namespace paceline::worker
