// Lives by chance of the engine beside the policies that it is to take the place of: pushes,
// losses, joins, ill gradients, steps given up, deadlines, changed knobs and the end in any order.
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/schemes/engine/make_engine.h"
#include "lib/sync/schemes/policy_factory.h"
#include "tests/explore/small_world.h"
#include "tests/explore/twins.h"

namespace paceline::sync::explore {
namespace {

constexpr int kLives = 300;

uint32_t Below(std::mt19937_64& chance, uint32_t bound) {
  return static_cast<uint32_t>(chance() % bound);
}

WorldOptions WorldOf(const PolicySpec& spec, std::mt19937_64& chance) {
  WorldOptions options{.spec = spec};
  options.spec.workers_expected = 1 + Below(chance, 7);
  options.spec.global_batch_size = options.spec.workers_expected * (1 + Below(chance, 4));
  options.samples_total = 10 + Below(chance, 300);
  options.crashes = Below(chance, 3);
  options.joins = Below(chance, 3);
  options.non_finite = Below(chance, 5);
  options.abandons = Below(chance, 6);
  options.quiesces = Below(chance, 4) == 0 ? 1 : 0;
  options.deadlines = Below(chance, 4);
  options.per_choice = Seconds(0.25 * Below(chance, 4));
  return options;
}

// Its way as text, and what differed, or nothing.
std::string Live(const PolicySpec& spec, uint64_t seed, size_t& steps) {
  std::mt19937_64 chance(seed);
  WorldOptions options = WorldOf(spec, chance);
  if (Below(chance, 2) == 0) {
    options.reconfigured = options.spec;
    options.reconfigured->backup_workers = Below(chance, 3);
    if (spec.scheme == Scheme::kSsp) options.reconfigured->staleness = Below(chance, 5);
    if (spec.scheme == Scheme::kSsp || spec.scheme == Scheme::kAsp)
      options.reconfigured->update_scale = UpdateScale::kFull;
  }
  auto policy = MakePolicy(options.spec);
  auto engine = MakeEngine(options.spec, "");
  if (!policy.ok() || !engine.ok()) return "cannot be made";
  auto twins = std::make_unique<Twins>(*std::move(policy), *std::move(engine));
  const Twins* const both = twins.get();
  SmallWorld world(options, std::move(twins), [](const std::string&) {});
  std::string way;
  for (int step = 0; step < 3000 && both->difference().empty(); ++step) {
    const std::vector<std::string> choices = world.Choices();
    if (choices.empty()) break;
    const std::string choice = choices[Below(chance, static_cast<uint32_t>(choices.size()))];
    way += choice + "; ";
    world.Take(choice);
    ++steps;
  }
  if (both->difference().empty()) return "";
  return both->difference() + "\nafter: " + way;
}

class EngineLivesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(EngineLivesTest, DecidesAsThePolicy) {
  const auto spec = ParsePolicySpec(GetParam());
  ASSERT_TRUE(spec.ok()) << spec.status();
  size_t steps = 0;
  for (uint64_t seed = 0; seed < kLives; ++seed) {
    const std::string difference = Live(*spec, seed, steps);
    ASSERT_EQ(difference, "") << "seed " << seed;
  }
  EXPECT_GT(steps, size_t{kLives} * 20);
}

INSTANTIATE_TEST_SUITE_P(
    Presets, EngineLivesTest,
    ::testing::Values(
        "BSP", "BSP deterministic", "BackupWorkers", "BackupWorkers backup=2 deterministic",
        "DBW dbw-warm-up=1", "DBW dbw-warm-up=2 dbw-late=interrupt",
        "DBW dbw-warm-up=1 dbw-late=leave", "DBW dbw-method=ada-sync dbw-ada-k=1 dbw-ada-seconds=2",
        "BSP sizing=EMA", "BSP sizing=NARX", "BSP sizing=Stepwise", "DBW dbw-warm-up=1 sizing=EMA",
        "SSP staleness=0", "SSP staleness=1", "SSP", "SSP staleness=unbounded",
        "SSP staleness=2 update-scale=full", "ASP", "ASP update-scale=full", "PSPlus",
        "PSPlus staleness=0", "PSPlus staleness=1 depth=2", "PSPlus staleness=unbounded depth=3",
        "PSPlus modulation=progress-gap", "PSPlus modulation=inverse update-scale=full staleness=2",
        "WBSP", "WBSP basic", "WBSP late-push=drop", "WBSP trigger=designated elect=2",
        "WBSP trigger=designated basic late-push=drop", "WBSP local-steps=3", "WBSP normalised"));

}  // namespace
}  // namespace paceline::sync::explore
