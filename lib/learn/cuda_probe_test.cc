#include "lib/learn/cuda_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::learn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CudaProbe WithGpu() {
  return {.visible_devices = [] { return std::optional<std::string>(); },
          .load_library = [] { return OkStatus(); },
          .load_driver = [] { return OkStatus(); },
          .count_devices = [] { return 1; },
          .initialise = [] { return OkStatus(); }};
}

void ExpectRefused(const CudaProbe& probe, const std::string& says, const std::string& wants) {
  const Status status = CheckCuda(probe);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(status), AllOf(HasSubstr("device cuda"), HasSubstr(says), HasSubstr(wants)));
}

TEST(CudaProbeTest, AGpuThatCanBeUsedIs) { EXPECT_TRUE(CheckCuda(WithGpu()).ok()); }

TEST(CudaProbeTest, SaysWhatIsMissingTheFirstThingFirst) {
  CudaProbe probe = WithGpu();
  probe.initialise = [] { return FailedPrecondition("CUDA error: device is busy"); };
  ExpectRefused(probe, "cannot be used", "device is busy");
  probe.count_devices = [] { return 0; };
  ExpectRefused(probe, "the driver finds no GPU", "");
  probe.visible_devices = [] { return std::optional<std::string>("7"); };
  ExpectRefused(probe, "no GPU is visible", "CUDA_VISIBLE_DEVICES is \"7\"");
  probe.load_driver = [] { return FailedPrecondition("libcuda.so.1: cannot open"); };
  ExpectRefused(probe, "driver is missing: libcuda.so.1: cannot open", "nvidia.com/gpu");
  probe.load_library = [] { return FailedPrecondition("libtorch_cuda.so: cannot open"); };
  ExpectRefused(probe, "no CUDA half here: libtorch_cuda.so: cannot open", "worker-cuda");
}

}  // namespace
}  // namespace paceline::learn
