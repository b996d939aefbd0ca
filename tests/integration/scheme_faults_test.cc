// Workers that die, freeze and leave in the middle of a run, with every scheme.
#include <csignal>

#include <gtest/gtest.h>

#include "tests/integration/live_run.h"
#include "tests/integration/scheme_cases.h"
#include "tests/integration/workers_of_a_run.h"

namespace paceline::integration {
namespace {

using Json = nlohmann::json;

class SchemeFaultsTest : public EverySchemeTest {};

// What a worker holds when it dies, freezes or is asked to go depends on the scheme: one lease or
// several, a step, a push on its way, local steps that nobody has seen.
TEST_P(SchemeFaultsTest, WorkersDieFreezeAndLeaveAndNoSampleIsLostOrDoubled) {
  constexpr uint64_t kEpochs = 60;
  LiveRun run = Start(SlowSteps(kEpochs));
  ASSERT_FALSE(run.WaitFor([](const Json& now) { return now["step"] >= 12; }).is_null());
  const pid_t frozen = run.PidOf("worker-2");
  ASSERT_GT(frozen, 0);
  ASSERT_EQ(kill(frozen, SIGSTOP), 0);
  const Json lost = run.WaitFor([](const Json& now) { return !IsMember(now, 2); });
  ASSERT_FALSE(lost.is_null());
  EXPECT_TRUE(run.MovesOn(lost, 10)) << "the others did not go on";
  ASSERT_EQ(kill(run.PidOf("worker-1"), SIGKILL), 0);
  ASSERT_EQ(kill(run.PidOf("worker-3"), SIGTERM), 0);
  ASSERT_EQ(kill(frozen, SIGCONT), 0);
  const Json back = run.WaitFor([](const Json& now) {
    const bool has_left = !IsMember(now, 3) || IncarnationOf(now, 3) == 2;  // It is started again.
    return IsMember(now, 1) && IncarnationOf(now, 1) == 2 && IsMember(now, 2) && has_left;
  });
  ASSERT_FALSE(back.is_null()) << run.LogOf("worker-1") << run.LogOf("worker-2");
  EXPECT_TRUE(run.MovesOn(back, 10));
  const Ended ended = run.Wait(280);
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(run.LogOf("ps-0").find("policy broke its contract"), std::string::npos);
  ExpectEverySampleOnce(ended.last_state, kEpochs);
}

INSTANTIATE_TEST_SUITE_P(Schemes, SchemeFaultsTest, ::testing::ValuesIn(SchemeCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace paceline::integration
