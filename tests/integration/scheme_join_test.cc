// A worker more in the middle of a run, with every scheme.
#include <gtest/gtest.h>

#include "lib/sync/trace/replay.h"
#include "tests/integration/live_run.h"
#include "tests/integration/scheme_cases.h"
#include "tests/integration/workers_of_a_run.h"

namespace paceline::integration {
namespace {

using Json = nlohmann::json;

class SchemeJoinTest : public EverySchemeTest {};

// Where a newcomer begins depends on the scheme too: its clock, its share of the batch, its place
// among those whose times are known, the version from which it takes its local steps.
TEST_P(SchemeJoinTest, NewWorkerJoinsAndPushesAndNoSampleIsLostOrDoubled) {
  constexpr uint64_t kEpochs = 30;
  std::vector<std::string> overrides = SlowSteps(kEpochs);
  overrides.push_back("spec.workers.replicas=3");
  LiveRun run = Start(overrides);
  const Json before = run.WaitFor([](const Json& now) { return now["step"] >= 12; });
  ASSERT_FALSE(before.is_null());
  ASSERT_EQ(WorkerOf(before, 3), nullptr) << before;
  const Ended asked = RunProgram({"paceline", "ctl", "set", "--run", run.RunFolder(),
                                  "spec.workers.maxReplicas=4", "spec.workers.replicas=4"});
  ASSERT_EQ(asked.code, 0) << asked.err;
  const Json joined = run.WaitFor(
      [](const Json& now) { return IsMember(now, 3) && (*WorkerOf(now, 3))["steps"] >= 3; });
  ASSERT_FALSE(joined.is_null()) << run.LogOf("worker-3");
  EXPECT_TRUE(run.MovesOn(joined, 10));
  const Ended ended = run.Wait(280);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(run.LogOf("ps-0").find("policy broke its contract"), std::string::npos);
  ExpectEverySampleOnce(ended.last_state, kEpochs);
  for (uint64_t index = 0; index < 4; ++index)
    EXPECT_EQ(IncarnationOf(ended.last_state, index), 1) << index << " had to join again";
  const auto replay = sync::Replay(ReadText(run.RunFolder() + "/policy.trace"));
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_FALSE(replay->difference.has_value()) << "line " << replay->difference->line;
}

INSTANTIATE_TEST_SUITE_P(Schemes, SchemeJoinTest, ::testing::ValuesIn(SchemeCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace paceline::integration
