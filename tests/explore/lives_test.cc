// Lives by chance: what walks through small worlds cannot reach. Up to seven workers and hundreds
// of samples, pushes, losses, joins, ill gradients, steps given up, deadlines, changed knobs and
// the end in any order. Each life must keep the contract, and end with every sample committed.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/schemes/policy_factory.h"
#include "tests/explore/small_world.h"

namespace paceline::sync::explore {
namespace {

constexpr uint64_t kLives = 300;
constexpr int kStepsMax = 5000;

uint32_t Below(std::mt19937_64& chance, uint32_t bound) {
  return static_cast<uint32_t>(chance() % bound);
}

WorldOptions WorldOf(const PolicySpec& spec, std::mt19937_64& chance) {
  WorldOptions options{.spec = spec};
  options.spec.workers_expected = 1 + Below(chance, 7);
  options.spec.global_batch_size = options.spec.workers_expected * (1 + Below(chance, 4));
  options.samples_total = 10 + Below(chance, 300);
  options.crashes = Below(chance, 3);
  options.joins = Below(chance, 2);
  options.non_finite = Below(chance, 5);
  options.abandons = Below(chance, 6);
  options.quiesces = Below(chance, 4) == 0 ? 1 : 0;
  options.deadlines = Below(chance, 4);
  options.per_choice = Seconds(0.25 * Below(chance, 4));
  if (Below(chance, 2) == 0) {
    options.reconfigured = options.spec;
    options.reconfigured->backup_workers = Below(chance, 3);
    options.reconfigured->staleness = Below(chance, 5);
    options.reconfigured->update_scale = UpdateScale::kFull;
  }
  return options;
}

struct Lived {
  std::string problem;  // Empty: none.
  std::string way;
  size_t steps = 0;
};

Lived Live(const PolicySpec& spec, uint64_t seed) {
  std::mt19937_64 chance(seed);
  const WorldOptions options = WorldOf(spec, chance);
  Lived lived;
  SmallWorld world(options, *MakePolicy(options.spec), [&](const std::string& violation) {
    if (lived.problem.empty()) lived.problem = violation;
  });
  for (; lived.problem.empty(); ++lived.steps) {
    const std::vector<std::string> choices = world.Choices();
    if (choices.empty()) break;
    if (lived.steps == kStepsMax) {
      lived.problem = "it does not end";
      break;
    }
    const std::string choice = choices[Below(chance, static_cast<uint32_t>(choices.size()))];
    lived.way += choice + "; ";
    world.Take(choice);
  }
  if (lived.problem.empty()) lived.problem = world.Disorder().value_or("");
  return lived;
}

class LivesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LivesTest, KeepTheContractAndLoseNoSample) {
  const auto spec = ParsePolicySpec(GetParam());
  ASSERT_TRUE(spec.ok()) << spec.status();
  size_t steps = 0;
  for (uint64_t seed = 0; seed < kLives; ++seed) {
    const Lived lived = Live(*spec, seed);
    ASSERT_EQ(lived.problem, "") << "seed " << seed << " after: " << lived.way;
    steps += lived.steps;
  }
  EXPECT_GT(steps, kLives * 20);
}

INSTANTIATE_TEST_SUITE_P(
    Presets, LivesTest,
    ::testing::Values(
        "BSP", "BSP deterministic", "BackupWorkers", "BackupWorkers backup=2 deterministic",
        "DBW dbw-warm-up=1", "DBW dbw-warm-up=2 dbw-late=interrupt",
        "DBW dbw-warm-up=1 dbw-late=leave", "DBW dbw-method=ada-sync dbw-ada-k=1 dbw-ada-seconds=2",
        "BSP sizing=EMA", "BSP sizing=NARX", "BSP sizing=Stepwise", "DBW dbw-warm-up=1 sizing=EMA",
        "DBW dbw-warm-up=1 sizing=NARX", "SSP staleness=0", "SSP staleness=1", "SSP",
        "SSP staleness=unbounded", "SSP staleness=2 update-scale=full", "ASP",
        "ASP update-scale=full", "PSPlus", "PSPlus staleness=0", "PSPlus staleness=1 depth=2",
        "PSPlus staleness=unbounded depth=3", "PSPlus modulation=progress-gap",
        "PSPlus modulation=inverse update-scale=full staleness=2", "WBSP", "WBSP basic",
        "WBSP late-push=drop", "WBSP trigger=designated elect=2",
        "WBSP trigger=designated basic late-push=drop", "WBSP local-steps=3", "WBSP normalised"));

}  // namespace
}  // namespace paceline::sync::explore
