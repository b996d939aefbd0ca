// Walks every way through small worlds: three workers, a few steps, a crash, a join and more at any
// moment. Each way must end with every sample committed, under CheckedPolicy and the scheme's rule.

#include <gmock/gmock.h>

#include "lib/sync/contract/words.h"
#include "lib/sync/schemes/policy_factory.h"
#include "tests/explore/mutant.h"
#include "tests/explore/walk.h"

namespace paceline::sync::explore {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kWorkers = 3;

PolicySpec Spec(Scheme scheme) {
  PolicySpec spec{.scheme = scheme};
  spec.global_batch_size = kWorkers;
  spec.workers_expected = kWorkers;
  return spec;
}

PolicySpec SspSpec(uint64_t staleness) {
  PolicySpec spec = Spec(Scheme::kSsp);
  spec.staleness = staleness;
  return spec;
}

// With two leases a worker there are many more ways: some of these worlds have a worker less.
PolicySpec PsPlusSpec(uint32_t workers, std::optional<uint64_t> staleness, uint32_t depth = 1) {
  PolicySpec spec = Spec(Scheme::kPsPlus);
  spec.global_batch_size = spec.workers_expected = workers;
  spec.staleness = staleness;
  spec.depth = depth;
  return spec;
}

PolicySpec DeterministicSpec(Scheme scheme) {
  PolicySpec spec = Spec(scheme);
  spec.is_deterministic = true;
  return spec;
}

// Barrier schemes: only gradients of the newest version are used.
std::optional<std::string> NothingStale(const SmallWorld& world) {
  for (const auto& [based_on, newest] : world.accumulated_on()) {
    if (based_on != newest) return fmt::format("push on {} is used at {}", based_on, newest);
  }
  return std::nullopt;
}

// BSP: all who compute do so on the newest version.
std::optional<std::string> AllOnOneVersion(const SmallWorld& world) {
  for (const auto& [worker, seen] : world.workers()) {
    const bool is_computing = seen.state == SeenWorker::State::kComputing;
    if (is_computing && seen.based_on != world.version() && !world.is_stopping()) {
      return fmt::format("{} computes on {} at {}", worker, seen.based_on, world.version());
    }
  }
  return NothingStale(world);
}

// SSP: nobody computes who is more than `staleness` clocks ahead of the slowest.
Rule Within(uint64_t staleness) {
  return [staleness](const SmallWorld& world) -> std::optional<std::string> {
    for (const auto& [worker, seen] : world.workers()) {
      if (seen.state != SeenWorker::State::kComputing) continue;
      if (seen.clock > *world.Slowest() + staleness) {
        return fmt::format("{} is at clock {}, the slowest at {}", worker, seen.clock,
                           *world.Slowest());
      }
    }
    return std::nullopt;
  };
}

PolicySpec WbspSpec(bool is_overlapped, RoundTrigger trigger = RoundTrigger::kAllPushed,
                    LatePush late_push = LatePush::kFold) {
  PolicySpec spec = Spec(Scheme::kWbsp);
  spec.wbsp.is_overlapped = is_overlapped;
  spec.wbsp.trigger = trigger;
  spec.wbsp.late_push = late_push;
  spec.wbsp.local_steps_max = 2;
  return spec;
}

// WBSP: nothing is used that was made for a round before the last.
std::optional<std::string> OneRoundLateAtMost(const SmallWorld& world) {
  for (const auto& [based_on, newest] : world.accumulated_on()) {
    if (based_on.Next() < newest) return fmt::format("push on {} is used at {}", based_on, newest);
  }
  return std::nullopt;
}

// PS+: nobody has pushed more than one step beyond `staleness` clocks ahead of the slowest, and
// nobody waits for an answer without a reason.
Rule EagerWithin(uint64_t staleness) {
  return [staleness](const SmallWorld& world) -> std::optional<std::string> {
    for (const auto& [worker, seen] : world.workers()) {
      const uint64_t slowest = world.Slowest().value_or(seen.clock);
      if (seen.clock > slowest + staleness + 1)
        return fmt::format("{} is at clock {}, the slowest at {}", worker, seen.clock, slowest);
      const bool is_admitted = seen.clock <= slowest + staleness;
      if (seen.state == SeenWorker::State::kComputing && is_admitted && seen.unanswered > 0 &&
          !world.is_stopping())
        return fmt::format("{} waits for an answer at clock {}, the slowest at {}", worker,
                           seen.clock, slowest);
    }
    return std::nullopt;
  };
}

std::optional<std::string> Anything(const SmallWorld&) { return std::nullopt; }

struct Case {
  const char* name;
  PolicySpec spec;
  Rule rule;
  uint32_t samples_max = UINT32_MAX;  // Of the world; few where there are many ways.
};

PolicySpec SizedSpec(Scheme scheme, Sizing strategy) {
  PolicySpec spec = Spec(scheme);
  spec.global_batch_size = 5;  // So that there is something to move.
  spec.sizing.strategy = strategy;
  spec.sizing.period_steps = 1;
  return spec;
}

// One sample for each worker, unless the batch is given.
PolicySpec Parsed(const std::string& text) {
  PolicySpec spec = *ParsePolicySpec(text);
  if (text.find("batch=") == std::string::npos) spec.global_batch_size = spec.workers_expected;
  return spec;
}

std::vector<Case> AllSchemes() {
  return {
      {"Bsp", Spec(Scheme::kBsp), AllOnOneVersion},
      {"BspDeterministic", DeterministicSpec(Scheme::kBsp), AllOnOneVersion},
      {"OneBackup", Spec(Scheme::kBackupWorkers), NothingStale},
      {"OneBackupDeterministic", DeterministicSpec(Scheme::kBackupWorkers), NothingStale},
      {"BspEma", SizedSpec(Scheme::kBsp, Sizing::kEma), AllOnOneVersion},
      {"BspNarx", SizedSpec(Scheme::kBsp, Sizing::kNarx), AllOnOneVersion},
      {"BspStepwise", SizedSpec(Scheme::kBsp, Sizing::kStepwise), AllOnOneVersion},
      {"OneBackupEma", SizedSpec(Scheme::kBackupWorkers, Sizing::kEma), NothingStale},
      {"SspZero", SspSpec(0), Within(0)},
      {"SspOne", SspSpec(1), Within(1)},
      {"SspTwo", SspSpec(2), Within(2)},
      {"Asp", Spec(Scheme::kAsp), Anything},
      {"WbspBasic", WbspSpec(false), OneRoundLateAtMost, 4},
      {"WbspDropping", WbspSpec(false, RoundTrigger::kAllPushed, LatePush::kDrop), NothingStale, 4},
      {"WbspDesignated", WbspSpec(false, RoundTrigger::kDesignated), OneRoundLateAtMost, 4},
      {"WbspOverlapped", WbspSpec(true), OneRoundLateAtMost, 4},
      {"PsPlus", PsPlusSpec(kWorkers, std::nullopt), Anything},
      {"PsPlusZero", PsPlusSpec(kWorkers, 0), EagerWithin(0)},
      {"PsPlusOne", PsPlusSpec(2, 1), EagerWithin(1)},
      {"PsPlusDeep", PsPlusSpec(2, 1, 2), EagerWithin(1)},
      {"KAsync", Parsed("KAsync workers=3 quorum=2"), Anything},
      {"KAsyncModulated", Parsed("KAsync workers=3 quorum=2 window=1 modulate=staleness"), Anything,
       6},
      {"KBatchAsync", Parsed("KBatchAsync workers=3 quorum=2"), Anything, 6},
      {"KBatchAsyncOfMany", Parsed("KBatchAsync workers=2 quorum=3"), Anything, 6},
      {"BspGoingOn", Parsed("BSP workers=3 meanwhile=go-on"), NothingStale, 6},
      {"BackupFolding", Parsed("BackupWorkers workers=3 reach=1"), OneRoundLateAtMost},
      {"BackupWeighing", Parsed("BackupWorkers workers=3 late=weigh"), Anything, 6},
      {"BspEager", Parsed("BSP workers=2 meanwhile=eager-pull"), OneRoundLateAtMost},
      {"BackupEager", Parsed("BackupWorkers workers=3 meanwhile=eager-pull"), OneRoundLateAtMost,
       4},
      {"PsPlusOfTwo", Parsed("PSPlus workers=3 quorum=2 staleness=unbounded"), Anything, 4},
      {"LocalOfTwo", Parsed("WBSP workers=3 quorum=2 local-steps=2 basic"), OneRoundLateAtMost, 4},
      {"LocalEma", Parsed("WBSP workers=2 batch=3 local-steps=2 sizing=EMA"), OneRoundLateAtMost,
       5},
      {"SspEma", Parsed("SSP workers=2 batch=3 staleness=1 sizing=EMA modulate=inverse"), Within(1),
       7},
      {"EagerEma", Parsed("BSP workers=2 batch=3 meanwhile=eager-pull sizing=EMA"),
       OneRoundLateAtMost, 5},
  };
}

std::string Told(const Finding& finding) {
  std::string text = finding.problem + "\n  after:";
  for (const std::string& choice : finding.way) text += " " + choice + ";";
  return text;
}

void ExpectClean(const WorldOptions& options, const Rule& rule) {
  const WalkResult result = Walk(options, *MakePolicy(options.spec), rule);
  EXPECT_FALSE(result.finding) << Told(*result.finding);
  EXPECT_GT(result.ends, 0u);
  ::testing::Test::RecordProperty("states", static_cast<int>(result.states));
}

class EveryWay : public ::testing::TestWithParam<Case> {};

TEST_P(EveryWay, FourStepsWithOneCrashAndOneJoin) {
  ExpectClean({.spec = GetParam().spec,
               .samples_total = std::min(12u, GetParam().samples_max),
               .crashes = 1,
               .joins = 1},
              GetParam().rule);
}

TEST_P(EveryWay, EverybodyCrashes) {
  ExpectClean({.spec = GetParam().spec,
               .samples_total = std::min(6u, GetParam().samples_max),
               .crashes = kWorkers,
               .joins = 1},
              GetParam().rule);
}

TEST_P(EveryWay, UnevenDataWithOneCrashAndOneStepAbandoned) {
  ExpectClean({.spec = GetParam().spec,
               .samples_total = std::min(7u, GetParam().samples_max),
               .crashes = 1,
               .abandons = 1},
              GetParam().rule);
}

TEST_P(EveryWay, FourPushesNotFiniteAndOneCrash) {
  ExpectClean({.spec = GetParam().spec,
               .samples_total = std::min(7u, GetParam().samples_max),
               .crashes = 1,
               .non_finite = 4},
              GetParam().rule);
}

TEST_P(EveryWay, QuiesceAtAnyMomentWithOneCrashAndOneJoin) {
  ExpectClean({.spec = GetParam().spec,
               .samples_total = std::min(7u, GetParam().samples_max),
               .crashes = 1,
               .joins = 1,
               .quiesces = 1},
              GetParam().rule);
}

INSTANTIATE_TEST_SUITE_P(Schemes, EveryWay, ::testing::ValuesIn(AllSchemes()),
                         [](const auto& info) { return std::string(info.param.name); });

// At any moment, with a crash and a join; the looser of both bounds holds throughout.
TEST(Reconfigured, EveryWayToAnotherWindowOrBarrier) {
  PolicySpec backup = Spec(Scheme::kBackupWorkers);
  PolicySpec none = backup;
  none.backup_workers = 0;
  const struct {
    PolicySpec from, to;
    Rule rule;
  } cases[] = {{SspSpec(0), SspSpec(2), Within(2)},
               {SspSpec(2), SspSpec(0), Within(2)},
               {backup, none, NothingStale},
               {none, backup, NothingStale},
               {Spec(Scheme::kBsp), Parsed("SSP workers=3 staleness=1"), Anything},
               {SspSpec(1), Spec(Scheme::kBsp), Anything},
               {Parsed("KBatchAsync workers=3 quorum=2"), backup, Anything},
               {backup, Parsed("KAsync workers=3 quorum=2 sizing=EMA"), Anything}};
  for (const auto& c : cases) {
    ASSERT_TRUE(MayReconfigure(c.from, c.to));
    ExpectClean(
        {.spec = c.from, .samples_total = 9, .crashes = 1, .joins = 1, .reconfigured = c.to},
        c.rule);
  }
}

TEST(EveryWayCount, TheWalkGoesMoreThanOneWay) {
  const PolicySpec spec = Spec(Scheme::kAsp);
  const WalkResult result = Walk({.spec = spec, .samples_total = 12, .crashes = 1, .joins = 1},
                                 *MakePolicy(spec), Anything);
  EXPECT_GT(result.states, 1000u);
}

struct Planted {
  const char* name;
  Bug bug;
  PolicySpec spec;
  WorldOptions world;  // But for its spec.
  Rule rule;
  const char* problem;
};

std::vector<Planted> AllPlanted() {
  const PolicySpec bsp = Spec(Scheme::kBsp);
  const PolicySpec backup = Spec(Scheme::kBackupWorkers);
  const PolicySpec asp = Spec(Scheme::kAsp);
  const WorldOptions plain;
  WorldOptions crash, join, spoil, quiesce;
  crash.crashes = join.joins = spoil.non_finite = quiesce.quiesces = 1;
  WorldOptions uneven = crash;
  uneven.samples_total = 7;
  return {
      {"BspForgetsLossAtBarrier", Bug::kForgetsLossAtBarrier, bsp, crash, AllOnOneVersion,
       "silence"},
      {"SspForgetsLossAtWindow", Bug::kForgetsLossAtBarrier, SspSpec(0), crash, Within(0),
       "silence"},
      {"BspCountsDeadWorker", Bug::kCountsDeadWorker, bsp, crash, AllOnOneVersion, "is no member"},
      {"SspCountsDeadWorker", Bug::kCountsDeadWorker, SspSpec(1), crash, Within(1), "is no member"},
      {"BspForgetsJoiner", Bug::kForgetsJoiner, bsp, join, AllOnOneVersion, "silence"},
      {"BspReleasesBusyWorker", Bug::kReleasesBusyWorker, bsp, plain, AllOnOneVersion,
       "worker does not wait"},
      {"AspReleasesBusyWorker", Bug::kReleasesBusyWorker, asp, plain, Anything,
       "worker does not wait"},
      {"BspAnswersTwice", Bug::kAnswersTwice, bsp, plain, AllOnOneVersion, "or twice"},
      {"BackupAnswersNever", Bug::kAnswersNever, backup, plain, NothingStale, "unanswered"},
      {"BspCommitsEmpty", Bug::kCommitsEmpty, bsp, plain, AllOnOneVersion, "commit is empty"},
      {"SspForgetsCommit", Bug::kForgetsCommit, SspSpec(1), plain, Within(1),
       "version does not exist"},
      {"BspReleasesUncommitted", Bug::kReleasesUncommitted, bsp, plain, AllOnOneVersion,
       "version does not exist"},
      {"BackupUsesLatePush", Bug::kUsesLatePush, backup, plain, NothingStale, "is used at"},
      {"BspUsesNonFinite", Bug::kUsesNonFinite, bsp, spoil, AllOnOneVersion, "not finite"},
      {"BspIgnoresOutOfData", Bug::kIgnoresOutOfData, bsp, uneven, AllOnOneVersion, "unpublished"},
      {"SspForgetsWhoIsOutOfData", Bug::kForgetsWhoIsOutOfData, SspSpec(1), uneven, Within(1),
       "silence"},
      {"BspIgnoresReturns", Bug::kIgnoresReturns, bsp, uneven, AllOnOneVersion, "silence"},
      {"SspIgnoresReturns", Bug::kIgnoresReturns, SspSpec(1), uneven, Within(1), "silence"},
      {"BspLooksAtEachCommit", Bug::kLooksAtEachCommit, bsp, uneven, AllOnOneVersion,
       "no samples returned"},
      {"BspIgnoresQuiesce", Bug::kIgnoresQuiesce, bsp, quiesce, AllOnOneVersion, "stopp"},
  };
}

class PlantedBug : public ::testing::TestWithParam<Planted> {};

WalkResult WalkWith(const Planted& planted, std::unique_ptr<Policy> policy,
                    const Describe& describe) {
  WorldOptions world = planted.world;
  world.spec = planted.spec;
  return Walk(world, std::move(policy), planted.rule, describe);
}

TEST_P(PlantedBug, IsFound) {
  const WalkResult result = WalkWith(
      GetParam(), std::make_unique<Mutant>(GetParam().bug, *MakePolicy(GetParam().spec)),
      [](const Policy& policy) { return dynamic_cast<const Mutant&>(policy).DebugString(); });
  ASSERT_TRUE(result.finding) << result.states << " states and nothing found";
  EXPECT_THAT(result.finding->problem, HasSubstr(GetParam().problem)) << Told(*result.finding);
}

TEST_P(PlantedBug, AndWithoutItTheSameWorldIsClean) {
  const WalkResult result = WalkWith(GetParam(), *MakePolicy(GetParam().spec), DescribePolicy);
  EXPECT_FALSE(result.finding) << Told(*result.finding);
}

INSTANTIATE_TEST_SUITE_P(Bugs, PlantedBug, ::testing::ValuesIn(AllPlanted()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(PlantedBugInWorld, ALedgerThatNeverSaysWhatReturnedIsFound) {
  for (const char* const spec : {"BSP workers=3", "SSP workers=3 staleness=1", "WBSP workers=2",
                                 "PSPlus workers=2", "KBatchAsync workers=3 quorum=2"}) {
    WorldOptions world{.spec = Parsed(spec), .samples_total = 4, .crashes = 1};
    world.has_silent_ledger = true;
    const WalkResult result = Walk(world, *MakePolicy(world.spec), Anything);
    ASSERT_TRUE(result.finding) << spec;
    EXPECT_THAT(result.finding->problem, HasSubstr("are left, and nobody takes them")) << spec;
  }
}

TEST(PlantedBugInWindow, AGateThatIsOffByOneIsFound) {
  for (const uint64_t staleness : {0, 1, 2}) {
    const WorldOptions world{.spec = SspSpec(staleness + 1), .samples_total = 12};
    const WalkResult result = Walk(world, *MakePolicy(world.spec), Within(staleness));
    ASSERT_TRUE(result.finding) << staleness;
    EXPECT_THAT(result.finding->problem, HasSubstr("the slowest at"));
  }
}

TEST(PlantedBugInWindow, AGateThatIsTooTightStillEndsWell) {
  const WorldOptions world{.spec = SspSpec(0), .samples_total = 12};
  const WalkResult result = Walk(world, *MakePolicy(world.spec), Within(1));
  EXPECT_FALSE(result.finding) << Told(*result.finding);
}

}  // namespace
}  // namespace paceline::sync::explore
