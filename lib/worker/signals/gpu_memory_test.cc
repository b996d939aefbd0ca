#include "lib/worker/signals/gpu_memory.h"

#include <gtest/gtest.h>

namespace paceline::worker {
namespace {

// With nvml_stub.cc in NVML's place.
TEST(GpuMemory, IsWhatNvmlSaysOfTheVisibleGpu) {
  const auto first = OpenGpuMemory("cuda", "");
  ASSERT_TRUE(first) << "NVML was not found";
  EXPECT_EQ(first(), 5e9);
  for (const auto& [device, visible] : {std::pair("cuda:1", ""), std::pair("cuda", "1"),
                                        std::pair("cuda", "GPU-77"), std::pair("cuda:1", "0,1")}) {
    const auto second = OpenGpuMemory(device, visible);
    ASSERT_TRUE(second) << device << " of " << visible;
    EXPECT_EQ(second(), 7e9) << device << " of " << visible;
  }
}

TEST(GpuMemory, IsNothingWhileTheGpuCannotBeAsked) {
  const auto lost = OpenGpuMemory("cuda:2", "");
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost(), std::nullopt);
}

TEST(GpuMemory, IsNullWithoutSuchAGpu) {
  EXPECT_FALSE(OpenGpuMemory("cuda:3", ""));
  EXPECT_FALSE(OpenGpuMemory("cuda", "GPU-78"));
  EXPECT_FALSE(OpenGpuMemory("cpu", ""));
}

}  // namespace
}  // namespace paceline::worker
