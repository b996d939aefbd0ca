#include "cli/local/cpu_use.h"

#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "cli/local/child.h"

namespace paceline::local {
namespace {

StatusOr<Child> Shell(const std::string& line) {
  return Child::Start(
      {.arguments = {"/bin/sh", "-c", line}, .environment = {}, .log_path = "/dev/null"});
}

// Looks until the child has used so much, or a minute is over.
bool WaitForCpu(Duration wanted) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    if (const StatusOr<Duration> cpu = CpuTimeOfChildren(); cpu.ok() && *cpu >= wanted) return true;
  }
  return false;
}

TEST(CpuUse, CountsChildrenThatBurn) {
  ASSERT_TRUE(CpuTimeOfChildren().ok());
  const Duration before = *CpuTimeOfChildren();
  const StatusOr<Child> burner = Shell("while :; do :; done");
  ASSERT_TRUE(burner.ok()) << burner.status();
  CpuMeter meter;
  EXPECT_EQ(meter.cores(), std::nullopt);
  meter.Look();
  EXPECT_EQ(meter.cores(), std::nullopt);
  ASSERT_TRUE(WaitForCpu(before + Seconds(0.2)));
  meter.Look();
  ASSERT_TRUE(meter.cores());
  EXPECT_GT(*meter.cores(), 0);
  EXPECT_LT(*meter.cores(), 1.5);  // It has one thread.
}

TEST(CpuUse, CountsNobodyElse) {
  // This process burns while it looks, its child sleeps.
  const StatusOr<Child> sleeper = Shell("exec sleep 600");
  ASSERT_TRUE(sleeper.ok()) << sleeper.status();
  CpuMeter meter;
  meter.Look();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < end) meter.Look();
  ASSERT_TRUE(meter.cores());
  EXPECT_LT(*meter.cores(), 0.3);
}

// A worker that is done while others train has used what it has used.
TEST(CpuUse, CountsWhoEndedMeanwhile) {
  const Duration before = CpuTimeOfChildren().value_or(Duration::max());
  StatusOr<Child> burner = Shell("while :; do :; done");
  ASSERT_TRUE(burner.ok()) << burner.status();
  ASSERT_TRUE(WaitForCpu(before + Seconds(0.2)));
  CpuMeter meter;
  meter.Look();
  burner = Internal("killed and waited for");
  EXPECT_GE(CpuTimeOfChildren().value_or(Duration{}), before + Seconds(0.2));
  meter.Look();
  EXPECT_GE(meter.cores().value_or(-1), 0);
}

}  // namespace
}  // namespace paceline::local
