// Says on which device a job's processes compute, from what its manifest asks for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/job/manifest/training_job.h"
#include "lib/job/process_name.h"

namespace paceline::job {

enum class Computes {
  kCpu,
  kCuda,          // Or the process ends, saying what is missing.
  kCudaIfUsable,  // Else on the CPU, which is said.
};

struct DeviceChoice {
  Computes device = Computes::kCpu;
  // Whether the manifest names the device itself, or only machines that have one.
  bool is_by_name = false;
  // "spec.workers.template asks for nvidia.com/gpu"; empty: nothing asks for any device.
  std::string why;
};

// Of the workers: spec.workers.device; where that is Auto, what their own container asks for, as a
// limit or a request of 1 or more, the first of these that it has:
// - a GPU by the names that only NVIDIA's have (nvidia.com/gpu, nvidia.com/gpu.shared, a
//   nvidia.com/mig-...): CUDA;
// - a ResourceClaim (resources.claims), which does not say what it is for, or a resource whose name
//   is another of NVIDIA's, one of a DeviceClass or has "gpu" in it: CUDA if usable;
// - any other device (an extended resource: one with a domain that is not Kubernetes' own): the
//   CPU. `why` names the device, which nothing of ours computes on.
// Of the evaluator: the same of its own template. Others compute on the CPU.
DeviceChoice DeviceOf(const JobSpec& spec, Role role, std::string_view group = "");

// What to say to people of each device that a template names without a word on what its processes
// compute on: that it is tried, or that nothing computes on it. Each with its path.
std::vector<std::string> DeviceNotes(const JobSpec& spec);

}  // namespace paceline::job
