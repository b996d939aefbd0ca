#include "lib/worker/signals/gpu_memory.h"

#include <string_view>

#include <dlfcn.h>

#include "lib/worker/signals/kernel_files.h"

namespace paceline::worker {
namespace {

// NVML's stable C interface, as far as it is used. It is opened at run time, so that the same
// program runs where there is no GPU.
using NvmlDevice = struct NvmlDeviceImpl*;
struct NvmlMemory {
  unsigned long long total, free, used;
};
constexpr int kNvmlSuccess = 0;

struct Nvml {
  int (*init)() = nullptr;
  int (*by_index)(unsigned int, NvmlDevice*) = nullptr;
  int (*by_uuid)(const char*, NvmlDevice*) = nullptr;
  int (*memory)(NvmlDevice, NvmlMemory*) = nullptr;
  NvmlDevice device = nullptr;
};

template <class Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::string_view Trimmed(std::string_view text) {
  const auto words = SplitWords(text);
  return words.empty() ? std::string_view() : words[0];
}

}  // namespace

std::optional<std::string> GpuOf(const std::string& device, const std::string& visible) {
  constexpr std::string_view kCuda = "cuda";
  std::string_view rest = device;
  if (!rest.starts_with(kCuda)) return std::nullopt;
  rest.remove_prefix(kCuda.size());
  uint64_t index = 0;
  if (!rest.empty()) {
    const auto number = rest[0] == ':' ? ReadNumber(rest.substr(1)) : std::nullopt;
    if (!number) return std::nullopt;
    index = *number;
  }
  if (visible.empty()) return std::to_string(index);
  std::string_view list = visible;
  for (; index > 0; --index) {
    const size_t comma = list.find(',');
    if (comma == std::string_view::npos) return std::nullopt;
    list.remove_prefix(comma + 1);
  }
  const std::string_view one = Trimmed(list.substr(0, list.find(',')));
  if (one.empty() || one.starts_with('-')) return std::nullopt;
  return std::string(one);
}

std::function<std::optional<double>()> OpenGpuMemory(const std::string& device,
                                                     const std::string& visible) {
  const std::optional<std::string> gpu = GpuOf(device, visible);
  if (!gpu) return nullptr;
  // Stays open for the life of the process.
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  Nvml nvml;
  if (!Find(library, "nvmlInit_v2", nvml.init) ||
      !Find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.by_index) ||
      !Find(library, "nvmlDeviceGetHandleByUUID", nvml.by_uuid) ||
      !Find(library, "nvmlDeviceGetMemoryInfo", nvml.memory) || nvml.init() != kNvmlSuccess)
    return nullptr;
  const std::optional<uint64_t> index = ReadNumber(*gpu);
  const int found = index ? nvml.by_index(static_cast<unsigned int>(*index), &nvml.device)
                          : nvml.by_uuid(gpu->c_str(), &nvml.device);
  if (found != kNvmlSuccess) return nullptr;
  return [nvml]() -> std::optional<double> {
    NvmlMemory memory{};
    if (nvml.memory(nvml.device, &memory) != kNvmlSuccess) return std::nullopt;
    return static_cast<double>(memory.free);
  };
}

}  // namespace paceline::worker
