// Says why CUDA cannot be had on this machine, in the words of what would have to be put right.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lib/base/status.h"

namespace paceline::learn {

// What decides it, one thing after the other. Private to lib/learn but for tests, which answer by
// themselves.
struct CudaProbe {
  // What CUDA_VISIBLE_DEVICES says; nothing where it is not set.
  std::function<std::optional<std::string>()> visible_devices;
  // LibTorch's CUDA half; the linker's words where it cannot be loaded.
  std::function<Status()> load_library;
  // NVIDIA's driver (libcuda.so.1), likewise.
  std::function<Status()> load_driver;
  std::function<int()> count_devices;  // As LibTorch counts them.
  std::function<Status()> initialise;  // LibTorch's own part of device 0.
};

// This process's own. Blocks while libraries are loaded.
CudaProbe ThisMachine();

// OK: device 0 can be used. FailedPrecondition saying what is missing.
Status CheckCuda(const CudaProbe& probe);

}  // namespace paceline::learn
