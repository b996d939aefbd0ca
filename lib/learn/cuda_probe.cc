#include "lib/learn/cuda_probe.h"

#include <cstdlib>

#include <ATen/Context.h>
#include <dlfcn.h>

#include "lib/learn/catch_torch.h"

namespace paceline::learn {
namespace {

Status LoadLibrary(const char* name) {
  if (dlopen(name, RTLD_NOW | RTLD_GLOBAL) != nullptr) return OkStatus();
  return FailedPrecondition("{}", dlerror());
}

}  // namespace

CudaProbe ThisMachine() {
  return {
      .visible_devices = []() -> std::optional<std::string> {
        const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
        return visible == nullptr ? std::nullopt : std::optional<std::string>(visible);
      },
      // Loaded on request only: without it a program needs no CUDA package, and with it one program
      // serves both devices. It must come before LibTorch is first asked about CUDA, which it
      // answers once and for all.
      .load_library = [] { return LoadLibrary("libtorch_cuda.so"); },
      .load_driver = [] { return LoadLibrary("libcuda.so.1"); },
      .count_devices =
          [] {
            int devices = 0;
            (void)CatchTorch([&]() -> Status {
              devices = static_cast<int>(at::getNumGPUs());
              return OkStatus();
            });
            return devices;
          },
      .initialise =
          [] {
            return CatchTorch([]() -> Status {
              at::globalContext().lazyInitDevice(at::kCUDA);
              return OkStatus();
            });
          },
  };
}

Status CheckCuda(const CudaProbe& probe) {
  if (const Status library = probe.load_library(); !library.ok()) {
    return FailedPrecondition(
        "device cuda: LibTorch has no CUDA half here: {} (use the image worker-cuda, or install "
        "torch with its nvidia packages)",
        Message(library));
  }
  if (const Status driver = probe.load_driver(); !driver.ok()) {
    return FailedPrecondition(
        "device cuda: NVIDIA's driver is missing: {} (a pod has it where it asks for "
        "nvidia.com/gpu and the node's container runtime is NVIDIA's)",
        Message(driver));
  }
  const std::optional<std::string> visible = probe.visible_devices();
  if (probe.count_devices() < 1) {
    if (visible) {
      return FailedPrecondition(
          "device cuda: no GPU is visible: CUDA_VISIBLE_DEVICES is \"{}\" (want the index or UUID "
          "of one that this machine has)",
          *visible);
    }
    return FailedPrecondition(
        "device cuda: the driver finds no GPU on this machine that it can use");
  }
  return Annotate(probe.initialise(), "device cuda: the GPU cannot be used");
}

}  // namespace paceline::learn
