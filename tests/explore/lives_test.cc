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

// The spec may become `next` once, at any moment.
WorldOptions WorldOf(const PolicySpec& spec, const PolicySpec& next, std::mt19937_64& chance) {
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
    options.reconfigured = next;
    options.reconfigured->workers_expected = options.spec.workers_expected;
    options.reconfigured->global_batch_size = options.spec.global_batch_size;
    if (next == spec) {
      options.reconfigured->backup_workers = Below(chance, 3);
      options.reconfigured->staleness = Below(chance, 5);
      options.reconfigured->update_scale = UpdateScale::kFull;
    }
  }
  return options;
}

struct Lived {
  std::string problem;  // Empty: none.
  std::string way;
  size_t steps = 0;
};

Lived Live(const PolicySpec& spec, const PolicySpec& next, uint64_t seed) {
  std::mt19937_64 chance(seed);
  const WorldOptions options = WorldOf(spec, next, chance);
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
    const Lived lived = Live(*spec, *spec, seed);
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
        "DBW dbw-method=noise-scale dbw-warm-up=1", "DBW dbw-warm-up=1 dbw-late=leave",
        "DBW dbw-method=ada-sync dbw-ada-k=1 dbw-ada-seconds=2", "BSP sizing=EMA",
        "BSP sizing=NARX", "BSP sizing=Stepwise", "DBW dbw-warm-up=1 sizing=EMA",
        "DBW dbw-warm-up=1 sizing=NARX", "SSP staleness=0", "SSP staleness=1", "SSP",
        "SSP staleness=unbounded", "SSP staleness=2 update-scale=full", "ASP",
        "ASP update-scale=full", "PSPlus", "PSPlus staleness=0", "PSPlus staleness=1 depth=2",
        "PSPlus staleness=unbounded depth=3", "PSPlus modulation=progress-gap",
        "PSPlus modulation=inverse update-scale=full staleness=2", "WBSP", "WBSP basic",
        "WBSP late-push=drop", "WBSP trigger=designated elect=2",
        "WBSP trigger=designated basic late-push=drop", "WBSP local-steps=3", "WBSP normalised"));

using Group = std::vector<const char*>;

// What specs become of each other while workers compute: any of those of one group, which go on
// after a push alike.
const Group kGradients = {
    "BSP",
    "BackupWorkers late-worker=interrupt",
    "DBW dbw-warm-up=1",
    "DBW dbw-method=ada-sync dbw-ada-k=1 dbw-ada-seconds=2",
    "SSP staleness=1",
    "SSP staleness=2 modulate=staleness sizing=EMA",
    "ASP sizing=NARX",
    "KAsync quorum=2",
    "KAsync quorum=3 window=1 modulate=progress-gap sizing=Stepwise",
    "KBatchAsync quorum=1",
    "KBatchAsync quorum=3",
    "KBatchAsync quorum=2 window=2 modulate=inverse sizing=NARX",
    "BSP reach=1 quorum=2",
    "BSP meanwhile=go-on",
    "BackupWorkers meanwhile=go-on reach=2",
    "BackupWorkers late=weigh",
    "DBW dbw-warm-up=1 late=weigh sizing=EMA",
    "DBW dbw-warm-up=1 reach=1 sizing=NARX",
    "SSP late=drop reach=2 staleness=unbounded",
    "ASP quorum=all",
    "BSP quorum=dbw sizing=Stepwise dbw-warm-up=1",
    "BackupWorkers sizing=EMA",
};
const Group kAuto = {"Auto", "Auto late-worker=offer", "Auto late-worker=leave"};
const Group kEager = {
    "PSPlus",
    "PSPlus staleness=0 sizing=NARX",
    "PSPlus staleness=unbounded quorum=2",
    "PSPlus depth=2",
    "PSPlus depth=2 staleness=unbounded quorum=all late=drop",
    "PSPlus staleness=unbounded quorum=all late=drop",
    "BSP meanwhile=eager-pull",
    "BackupWorkers meanwhile=eager-pull",
    "BackupWorkers meanwhile=eager-pull late=weigh",
    "DBW dbw-method=blind dbw-warm-up=1 meanwhile=eager-pull sizing=NARX",
    "KAsync quorum=2 meanwhile=eager-pull window=1",
    "SSP meanwhile=eager-pull staleness=1",
};
const Group kLocal = {
    "WBSP",
    "WBSP sizing=NARX",
    "WBSP trigger=designated elect=2",
    "WBSP late-push=drop local-steps=3 sizing=EMA",
    "WBSP quorum=2 outer-lr=0.7 outer-momentum=0.9 outer-nesterov",
    "BackupWorkers meanwhile=local-steps",
    "DBW dbw-method=blind dbw-warm-up=1 meanwhile=local-steps",
    "BSP quorum=dbw dbw-method=ada-sync dbw-ada-seconds=2 meanwhile=local-steps reach=3",
};

// From one spec to the other, which some lives never come to.
class ComposedLivesTest : public ::testing::TestWithParam<Group> {};

TEST_P(ComposedLivesTest, KeepTheContractAndLoseNoSample) {
  uint64_t seed = 0;
  for (const char* const from : GetParam()) {
    for (const char* const to : GetParam()) {
      const auto spec = ParsePolicySpec(from), next = ParsePolicySpec(to);
      ASSERT_TRUE(spec.ok()) << from << ": " << spec.status();
      ASSERT_TRUE(next.ok()) << to << ": " << next.status();
      ASSERT_TRUE(MayReconfigure(*spec, *next)) << from << " to " << to;
      for (int life = 0; life < 15; ++life) {
        const Lived lived = Live(*spec, *next, ++seed);
        ASSERT_EQ(lived.problem, "")
            << from << " to " << to << ", seed " << seed << " after: " << lived.way;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gradients, ComposedLivesTest, ::testing::Values(kGradients));
INSTANTIATE_TEST_SUITE_P(Auto, ComposedLivesTest, ::testing::Values(kAuto));
INSTANTIATE_TEST_SUITE_P(EagerPull, ComposedLivesTest, ::testing::Values(kEager));
INSTANTIATE_TEST_SUITE_P(LocalSteps, ComposedLivesTest, ::testing::Values(kLocal));

}  // namespace
}  // namespace paceline::sync::explore
