// With how many threads workers compute, as they themselves say it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/live_run.h"

namespace paceline::integration {
namespace {

using ::testing::HasSubstr;

std::string LogOfAWorker(std::vector<std::string> overrides) {
  const TestFolder folder;
  overrides.insert(overrides.begin(), {"spec.workers.replicas=1", "spec.training.stop.maxSteps=2"});
  LiveRun run(folder, folder.Write("job.yaml", DigitsManifest()), Sets(overrides));
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  return run.LogOf("worker-0");
}

const char* const kEnvironment =
    "spec.workers.template.spec.containers=[{name: worker, env: [{name: OMP_NUM_THREADS, value: "
    "\"2\"}]}]";

TEST(ThreadsTest, WorkersOfOneMachineTakeOneEach) {
  EXPECT_THAT(LogOfAWorker({}), HasSubstr("threads=1 from=OMP_NUM_THREADS"));
}

TEST(ThreadsTest, TheTemplateMaySayMore) {
  EXPECT_THAT(LogOfAWorker({kEnvironment}), HasSubstr("threads=2 from=OMP_NUM_THREADS"));
}

TEST(ThreadsTest, TheManifestsWordIsTheLast) {
  EXPECT_THAT(LogOfAWorker({kEnvironment, "spec.workers.threads=3"}),
              HasSubstr("threads=3 from=spec.workers.threads"));
}

}  // namespace
}  // namespace paceline::integration
