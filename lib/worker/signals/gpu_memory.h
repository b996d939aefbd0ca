// Defines OpenGpuMemory: reads the free memory of the GPU that this worker computes on, with
// NVIDIA's NVML where the driver brought it.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace paceline::worker {

// Which of the node's GPUs `device` ("cuda", "cuda:1") is, where CUDA_VISIBLE_DEVICES says
// `visible` (indices or UUIDs, with commas; empty: all): its index or its UUID. Nothing for other
// devices, or one that is not visible.
std::optional<std::string> GpuOf(const std::string& device, const std::string& visible);

// Reads free bytes; nothing while the GPU cannot be asked. Null if there is no such GPU, or no NVML
// (libnvidia-ml.so.1) on this machine.
std::function<std::optional<double>()> OpenGpuMemory(const std::string& device,
                                                     const std::string& visible);

}  // namespace paceline::worker
