#include "worker/device.h"

#include "lib/learn/cuda_probe.h"
#include "lib/telemetry/log.h"

namespace paceline::worker {

StatusOr<std::string> ChooseDevice(const std::string& wish) {
  if (wish == "cpu") return wish;
  const Status usable = learn::CheckCuda(learn::ThisMachine());
  if (usable.ok()) return std::string("cuda");
  if (wish == "cuda") return usable;
  telemetry::Log(telemetry::LogLevel::kWarning, "computing on the CPU", {{"why", Message(usable)}});
  return std::string("cpu");
}

}  // namespace paceline::worker
