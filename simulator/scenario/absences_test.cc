#include "simulator/scenario/absences.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "simulator/scenario/scenario.h"

namespace paceline::simulator {
namespace {

// With those lines of a kind of two workers, after one that is always there if `keeps_one`.
LoadedScenario Loaded(const std::string& lines, bool keeps_one = true) {
  return LoadScenario(R"(apiVersion: paceline.dev/v1alpha1
kind: Scenario
spec:
  training: {globalBatchSize: 64}
  stop: {steps: 20}
  arms: [{name: bsp, sync: {scheme: BSP}}]
  cluster:
    silentAfterSeconds: 2.5
    workers:
)" + std::string(keeps_one ? "    - {count: 1}\n" : "") +
                      "    - count: 2\n" + lines);
}

std::string FirstError(const std::string& lines, bool keeps_one = true) {
  const LoadedScenario loaded = Loaded(lines, keeps_one);
  return loaded.errors.empty() ? "" : ToString(loaded.errors.front());
}

TEST(Absences, AreOfEachWorkerOfItsKind) {
  const LoadedScenario loaded = Loaded(
      "      joinsAtSeconds: 3\n"
      "      crashes: [{atSeconds: 5, returnsAfterSeconds: 2, silent: true}, "
      "{atSeconds: 9}]\n"
      "      outages: [{atSeconds: 4, forSeconds: 0.25}, {atSeconds: 8, forSeconds: 0.5}]\n");
  ASSERT_TRUE(loaded.errors.empty()) << ToString(loaded.errors.front());
  const ClusterOptions& cluster = loaded.scenario.cluster;
  EXPECT_EQ(cluster.silent_seconds, 2.5);
  ASSERT_EQ(cluster.absences.size(), 6u);
  for (uint32_t i = 0; i < 2; ++i) {
    const Absence* const its = &cluster.absences[3 * i];
    EXPECT_EQ(its[0].worker, 1 + i);
    EXPECT_EQ(its[0].from_seconds, 0);
    EXPECT_EQ(its[0].until_seconds, 3);
    EXPECT_EQ(its[1].from_seconds, 5);
    EXPECT_EQ(its[1].until_seconds, 7);
    EXPECT_TRUE(its[1].is_silent);
    EXPECT_EQ(its[2].worker, 1 + i);
    EXPECT_EQ(its[2].from_seconds, 9);
    EXPECT_FALSE(its[2].until_seconds);
    EXPECT_FALSE(its[2].is_silent);
    EXPECT_EQ(cluster.outages[2 * i + 1].worker, 1 + i);
    EXPECT_EQ(cluster.outages[2 * i + 1].from_seconds, 8);
    EXPECT_EQ(cluster.outages[2 * i + 1].until_seconds, 8.5);
  }
}

TEST(Absences, SayWhatDoesNotFit) {
  EXPECT_EQ(FirstError("      crashes: [{returnsAfterSeconds: 2}]\n"),
            "line 12: spec.cluster.workers[1].crashes[0].atSeconds: is required");
  EXPECT_EQ(FirstError("      crashes: [{atSeconds: 0}]\n"),
            "line 12: spec.cluster.workers[1].crashes[0].atSeconds: must be above 0: got 0");
  EXPECT_EQ(FirstError("      crashes: [{atSeconds: 4, returnsAfterSeconds: 2}, {atSeconds: 6}]\n"),
            "line 12: spec.cluster.workers[1].crashes[1].atSeconds: must be after 6 s, when the "
            "worker joins");
  EXPECT_EQ(FirstError("      joinsAtSeconds: 7\n      crashes: [{atSeconds: 6}]\n"),
            "line 13: spec.cluster.workers[1].crashes[0].atSeconds: must be after 7 s, when the "
            "worker joins");
  EXPECT_EQ(FirstError("      crashes: [{atSeconds: 4}, {atSeconds: 6}]\n"),
            "line 12: spec.cluster.workers[1].crashes[1]: is of a worker that is gone: the crash "
            "above it has no returnsAfterSeconds");
  EXPECT_EQ(FirstError("      crashes: [{atSeconds: 4, returnsAfter: 1}]\n"),
            "line 12: spec.cluster.workers[1].crashes[0].returnsAfter: is unknown: did you mean "
            "returnsAfterSeconds?");
  EXPECT_EQ(FirstError("      crashes: [{atSeconds: 4, silent: 1}]\n"),
            "line 12: spec.cluster.workers[1].crashes[0].silent: must be true or false: got 1");
  EXPECT_EQ(FirstError("      outages: {atSeconds: 4}\n"),
            "line 12: spec.cluster.workers[1].outages: must be a list: got an object");
  EXPECT_EQ(FirstError("      outages: [{atSeconds: 4}]\n"),
            "line 12: spec.cluster.workers[1].outages[0].forSeconds: is required");
  EXPECT_EQ(
      FirstError("      outages: [{atSeconds: 4, forSeconds: 2}, {atSeconds: 5, forSeconds: 1}]\n"),
      "line 12: spec.cluster.workers[1].outages[1].atSeconds: must not be before the end of "
      "the outage above it");
  EXPECT_EQ(FirstError("      crashes: [{atSeconds: 4}]\n"), "");
  EXPECT_EQ(FirstError("      crashes: [{atSeconds: 4}]\n", false),
            "line 10: spec.cluster.workers: must keep somebody: all crash and none returns");
}

}  // namespace
}  // namespace paceline::simulator
