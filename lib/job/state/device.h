// Says on which device a job's processes compute, from what its manifest asks for.
#pragma once

#include <string>

#include "lib/job/manifest/training_job.h"
#include "lib/job/process_name.h"

namespace paceline::job {

enum class Computes { kCpu, kCuda };

struct DeviceChoice {
  Computes device = Computes::kCpu;
  // Whether the manifest names the device itself, or only machines that have one.
  bool is_by_name = false;
  std::string why;  // "spec.workers.template asks for nvidia.com/gpu"; empty: nothing asks for any.
};

// Of the workers: spec.workers.device, where that is Auto CUDA if their own container asks for a
// GPU (nvidia.com/gpu, nvidia.com/gpu.shared or a nvidia.com/mig-... of 1 or more, as a limit or a
// request). Of the
// evaluator: the same of its own template. Others compute on the CPU.
DeviceChoice DeviceOf(const JobSpec& spec, Role role, std::string_view group = "");

}  // namespace paceline::job
