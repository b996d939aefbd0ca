#include "lib/worker/signals/host_signals.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "lib/worker/signals/testing.h"

namespace paceline::worker {
namespace {

using testing::MadeUpKernel;

constexpr Time kBegin{std::chrono::seconds(100)};

// A node of four cores, read one second apart.
class HostSignalsTest : public ::testing::Test {
 protected:
  HostSignalsTest() {
    kernel.Write("proc/self/cgroup", "0::/\n");
    kernel.Write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 8000 kB\n");
    Cpu(1000, 2000);
    Own(0, 0, 0);
  }
  // Seconds that all cores together were busy and idle.
  void Cpu(double busy, double idle) {
    const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    kernel.Write("proc/stat",
                 fmt::format("cpu {} 0 0 {} 0 0 0 0 0 0\ncpu0 1 0 0 1\ncpu1 1 0 0 1\ncpu2 1 0 0 1\n"
                             "cpu3 1 0 0 1\nintr 5\n",
                             uint64_t(busy * ticks), uint64_t(idle * ticks)));
  }
  void Own(double used, double throttled, double pressed) {
    const auto ticks = static_cast<uint64_t>(used * static_cast<double>(sysconf(_SC_CLK_TCK)));
    kernel.Write("proc/self/stat", fmt::format("7 (a (b) c) R 1 7 7 0 -1 4 9 9 9 9 {} {} 9 9 20\n",
                                               ticks / 2, ticks - ticks / 2));
    kernel.Write("cgroup/cpu.stat", fmt::format("throttled_usec {}\n", uint64_t(throttled * 1e6)));
    kernel.Write("cgroup/cpu.pressure",
                 fmt::format("some avg10=0 avg60=0 avg300=0 total={}\n", uint64_t(pressed * 1e6)));
  }
  double CpuAfterASecond() { return *signals().Read(kBegin + Seconds(1)).cpu_available; }
  HostSignals& signals() {
    if (!signals_) {
      signals_.emplace(kernel.paths());
      const auto first = signals_->Read(kBegin);
      EXPECT_FALSE(first.cpu_available);
    }
    return *signals_;
  }

  MadeUpKernel kernel;

 private:
  std::optional<HostSignals> signals_;
};

TEST_F(HostSignalsTest, WhatIsIdleAndWhatIsOwnCanBeHad) {
  signals();
  Cpu(1003, 2001);  // One of four cores idle,
  Own(1, 0, 0);     // one is ours.
  EXPECT_NEAR(CpuAfterASecond(), 0.5, 0.01);
}

TEST_F(HostSignalsTest, AQuotaIsWhatTheShareIsOf) {
  kernel.Write("cgroup/cpu.max", "200000 100000\n");
  signals();
  Cpu(1003, 2001);
  Own(0.5, 0, 0);
  EXPECT_NEAR(CpuAfterASecond(), 0.75, 0.01);
}

TEST_F(HostSignalsTest, AnIdleNodeGivesAll) {
  signals();
  Cpu(1000, 2004);
  EXPECT_NEAR(CpuAfterASecond(), 1, 0.01);
}

TEST_F(HostSignalsTest, ThrottledTimeIsNotAvailable) {
  signals();
  Cpu(1000, 2004);
  Own(0, 0.3, 0);
  EXPECT_NEAR(CpuAfterASecond(), 0.7, 1e-6);
}

TEST_F(HostSignalsTest, NorIsTimeOfWaitingForACore) {
  signals();
  Cpu(1000, 2004);
  Own(0, 0.3, 0.6);
  EXPECT_NEAR(CpuAfterASecond(), 0.4, 1e-6);
}

TEST_F(HostSignalsTest, MemoryEndsAtTheGroupsLimitOrTheNodes) {
  EXPECT_EQ(signals().Read(kBegin + Seconds(1)).memory_available, 8000 * 1024.0);
  kernel.Write("cgroup/memory.max", "1000000\n");
  kernel.Write("cgroup/memory.current", "400000\n");
  EXPECT_EQ(signals().Read(kBegin + Seconds(2)).memory_available, 600000);
}

TEST_F(HostSignalsTest, WithinTicksOfTheLastReadingItSaysTheSame) {
  signals();
  Cpu(1003, 2001);
  const double said = CpuAfterASecond();
  Cpu(1100, 2001);
  EXPECT_EQ(signals().Read(kBegin + Seconds(1.04)).cpu_available, said);
  EXPECT_LT(signals().Read(kBegin + Seconds(1.06)).cpu_available, said);
}

TEST_F(HostSignalsTest, AGpusMemoryCountsInsteadOfTheHosts) {
  HostSignals with_gpu(kernel.paths(), [] { return std::optional<double>(5e9); });
  EXPECT_EQ(with_gpu.Read(kBegin).memory_available, 5e9);
  HostSignals without(kernel.paths(), [] { return std::optional<double>(); });
  EXPECT_EQ(without.Read(kBegin).memory_available, 8000 * 1024.0);
}

TEST(HostSignalsWithoutFiles, NothingIsKnown) {
  const MadeUpKernel kernel;
  HostSignals signals(kernel.paths());
  signals.Read(kBegin);
  const sync::Signals read = signals.Read(kBegin + Seconds(1));
  EXPECT_FALSE(read.cpu_available);
  EXPECT_FALSE(read.memory_available);
}

TEST(HostSignalsHere, TellsOfThisMachine) {
  HostSignals signals{KernelPaths{}};
  signals.Read(kBegin);
  const sync::Signals read = signals.Read(kBegin + Seconds(1));
  ASSERT_TRUE(read.memory_available);
  EXPECT_GT(*read.memory_available, 0);
}

}  // namespace
}  // namespace paceline::worker
