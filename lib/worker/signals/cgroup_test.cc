#include "lib/worker/signals/cgroup.h"

#include <gtest/gtest.h>

#include "lib/worker/signals/gpu_memory.h"
#include "lib/worker/signals/testing.h"

namespace paceline::worker {
namespace {

using testing::MadeUpKernel;

TEST(Cgroup, ReadsVersionTwo) {
  MadeUpKernel kernel;
  kernel.Write("proc/self/cgroup", "0::/jobs/w0\n");
  kernel.Write("cgroup/jobs/w0/cpu.stat",
               "usage_usec 5000000\nuser_usec 4000000\nsystem_usec 1000000\nnr_periods 100\n"
               "nr_throttled 20\nthrottled_usec 750000\n");
  kernel.Write("cgroup/jobs/w0/cpu.max", "150000 100000\n");
  kernel.Write("cgroup/jobs/w0/cpu.pressure",
               "some avg10=1.00 avg60=2.00 avg300=3.00 total=250000\n"
               "full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
  kernel.Write("cgroup/jobs/w0/memory.max", "1000000\n");
  kernel.Write("cgroup/jobs/w0/memory.current", "700000\n");
  kernel.Write("cgroup/jobs/w0/memory.stat",
               "anon 500000\nactive_file 50000\ninactive_file 150000\n");
  const CgroupReading reading = Cgroup(kernel.paths()).Read();
  EXPECT_EQ(reading.cores_max, 1.5);
  EXPECT_EQ(reading.throttled, Seconds(0.75));
  EXPECT_EQ(reading.pressed, Seconds(0.25));
  EXPECT_EQ(reading.memory_max, 1000000u);
  EXPECT_EQ(reading.memory_used, 500000u);
}

TEST(Cgroup, NoLimitIsAbsent) {
  MadeUpKernel kernel;
  kernel.Write("proc/self/cgroup", "0::/\n");
  kernel.Write("cgroup/cpu.stat", "usage_usec 5\n");
  kernel.Write("cgroup/cpu.max", "max 100000\n");
  kernel.Write("cgroup/memory.max", "max\n");
  kernel.Write("cgroup/memory.current", "7\n");
  const CgroupReading reading = Cgroup(kernel.paths()).Read();
  EXPECT_FALSE(reading.cores_max);
  EXPECT_FALSE(reading.throttled);
  EXPECT_FALSE(reading.pressed);
  EXPECT_FALSE(reading.memory_max);
  EXPECT_EQ(reading.memory_used, 7u);
}

// A container sees its own group as the root of the mount, while /proc may name it as the node
// does.
TEST(Cgroup, AContainersOwnGroupIsTheMount) {
  MadeUpKernel kernel;
  kernel.Write("proc/self/cgroup", "0::/kubepods/pod1/abc\n");
  kernel.Write("cgroup/cpu.stat", "throttled_usec 5000000\n");
  EXPECT_EQ(Cgroup(kernel.paths()).Read().throttled, Seconds(5));
}

TEST(Cgroup, ReadsVersionOneWhereThatIsWhatThereIs) {
  MadeUpKernel kernel;
  kernel.Write("proc/self/cgroup",
               "9:memory:/w0\n4:cpu,cpuacct:/w0\n1:name=systemd:/w0\n0::/system.slice\n");
  kernel.Write("cgroup/cpu/w0/cpu.stat",
               "nr_periods 1\nnr_throttled 1\nthrottled_time 500000000\n");
  kernel.Write("cgroup/cpu/w0/cpu.cfs_quota_us", "200000\n");
  kernel.Write("cgroup/cpu/w0/cpu.cfs_period_us", "100000\n");
  kernel.Write("cgroup/memory/w0/memory.limit_in_bytes", "1000000\n");
  kernel.Write("cgroup/memory/w0/memory.usage_in_bytes", "400000\n");
  kernel.Write("cgroup/memory/w0/memory.stat", "total_inactive_file 100000\n");
  const CgroupReading reading = Cgroup(kernel.paths()).Read();
  EXPECT_EQ(reading.cores_max, 2);
  EXPECT_EQ(reading.throttled, Seconds(0.5));
  EXPECT_EQ(reading.memory_max, 1000000u);
  EXPECT_EQ(reading.memory_used, 300000u);
}

TEST(Cgroup, VersionOneTellsNoLimitAsAHugeNumber) {
  MadeUpKernel kernel;
  kernel.Write("proc/self/cgroup", "9:memory:/\n4:cpu,cpuacct:/\n");
  kernel.Write("cgroup/cpu/cpu.stat", "nr_periods 0\n");
  kernel.Write("cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  kernel.Write("cgroup/cpu/cpu.cfs_period_us", "100000\n");
  kernel.Write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  kernel.Write("cgroup/memory/memory.usage_in_bytes", "400000\n");
  const CgroupReading reading = Cgroup(kernel.paths()).Read();
  EXPECT_FALSE(reading.cores_max);
  EXPECT_FALSE(reading.memory_max);
  EXPECT_EQ(reading.memory_used, 400000u);
}

TEST(Cgroup, WithoutAnyNothingIsKnown) {
  MadeUpKernel kernel;
  const CgroupReading reading = Cgroup(kernel.paths()).Read();
  EXPECT_FALSE(reading.throttled);
  EXPECT_FALSE(reading.memory_used);
}

TEST(GpuOf, FollowsWhatIsVisible) {
  EXPECT_EQ(GpuOf("cuda", ""), "0");
  EXPECT_EQ(GpuOf("cuda:1", ""), "1");
  EXPECT_EQ(GpuOf("cuda:1", "4, 6"), "6");
  EXPECT_EQ(GpuOf("cuda", "GPU-8a2b,GPU-77"), "GPU-8a2b");
  EXPECT_EQ(GpuOf("cuda:2", "4,6"), std::nullopt);
  EXPECT_EQ(GpuOf("cuda", "-1"), std::nullopt);
  EXPECT_EQ(GpuOf("cuda:x", ""), std::nullopt);
  EXPECT_EQ(GpuOf("cpu", ""), std::nullopt);
}

TEST(OpenGpuMemory, IsNullOnACpu) { EXPECT_FALSE(OpenGpuMemory("cpu", "")); }

}  // namespace
}  // namespace paceline::worker
