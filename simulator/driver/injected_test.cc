#include "simulator/driver/injected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulator/driver/testing.h"

namespace paceline::simulator {
namespace {

using testing::Lived;
using testing::Of;

// Steps of a second each, with those seconds on top, a row a step and a column a worker.
ClusterOptions Recorded(const std::string& policy, size_t workers, const std::string& table) {
  ClusterOptions options = Of(policy, std::vector<double>(workers, 1));
  options.injected = {
      .enabled = true,
      .delays = {{.kind = job::DelayKind::kTrace, .trace = "table.csv"}},
  };
  options.injected_traces = {{"table.csv", table}};
  return options;
}

std::vector<double> TimesOf(const Life& life) {
  std::vector<double> times;
  for (const VersionFacts& version : life.versions) times.push_back(version.at_seconds);
  return times;
}

// The barrier waits for the slowest of each row; what is recorded starts over at its end.
TEST(Injected, ARecordedTableIsWhatStepsTakeOnTop) {
  ClusterOptions options = Recorded("BSP", 2, "0,0.5\n2,0\n0.25,0.25\n");
  options.steps_max = 5;
  EXPECT_EQ(TimesOf(Lived(options)), (std::vector<double>{1.5, 4.5, 5.75, 7.25, 10.25}));
}

// What was given up is behind it, as live: the second worker's next step is that of the next row.
TEST(Injected, AnInterruptedStepTakesTheNextRow) {
  ClusterOptions options =
      Recorded("BackupWorkers backup=1 late-worker=interrupt", 2, "0,9\n0,0\n");
  options.steps_max = 2;
  const Life life = Lived(options);
  EXPECT_EQ(TimesOf(life), (std::vector<double>{1, 2}));
  EXPECT_EQ(life.interrupted, 1u);
}

// A process that takes another's place begins with the first row, as live.
TEST(Injected, ANewProcessBeginsAtTheFirstRow) {
  ClusterOptions options = Recorded("BSP", 1, "1\n0\n0\n0\n0\n0\n0\n0\n");
  options.absences = {{.worker = 0, .from_seconds = 3.5, .until_seconds = 10}};
  options.steps_max = 4;
  EXPECT_EQ(TimesOf(Lived(options)), (std::vector<double>{2, 3, 12, 13}));
}

TEST(Injected, OtherKindsActAsTheyDoOnAWorker) {
  ClusterOptions options = Of("BSP", {1, 1});
  options.injected = {
      .enabled = true,
      .delays = {{.kind = job::DelayKind::kRatio, .workers = {1}, .ratio = 0.5}},
  };
  options.steps_max = 2;
  EXPECT_EQ(TimesOf(Lived(options)), (std::vector<double>{2, 4}));
  // As the manifest's own switch.
  options.injected.enabled = false;
  EXPECT_EQ(TimesOf(Lived(options)), (std::vector<double>{1, 2}));
}

TEST(Injected, SlowLinksAreThoseOfTheirWorkers) {
  ClusterOptions options = Of("BSP", {1, 1});
  options.network = {.bytes = 100};
  options.injected = {.enabled = true, .links = {{.workers = {1}, .bytes_per_second = 50}}};
  options.steps_max = 2;
  // Pull, step, push.
  EXPECT_EQ(TimesOf(Lived(options)), (std::vector<double>{2 + 1 + 2, 10}));
}

TEST(Injected, ATableThatIsNoneIsToldWithItsLine) {
  const ClusterOptions options = Recorded("BSP", 1, "0.1\nslow\n");
  const StatusOr<Life> life = Simulate(options);
  ASSERT_FALSE(life.ok());
  EXPECT_THAT(Message(life.status()), ::testing::HasSubstr("table.csv: line 2: must be seconds"));
}

}  // namespace
}  // namespace paceline::simulator
