// PS+ (Jin et al., IEEE TPDS 2022) on the simulator's clock: who misses how many updates, and how
// long an iteration takes, where a push and the pull that answers it take one round trip together.
//
// Workers compute for a fixed time; half of a round trip is the way to the server. A worker of an
// asynchronous scheme waits for its answer. One of PS+ goes on from its own copy: it pushes once
// the push before was answered, pulls meanwhile, and stops only where the version that it has lacks
// more of its own pushes than `depth`.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "tests/papers/played.h"

namespace paceline::papers {
namespace {

using simulator::ClusterOptions;
using sync::Scheme;

constexpr uint32_t kWorkers = 8;

// A step of a worker that is not slow takes a second.
struct Setting {
  sync::PolicySpec spec;
  double push = 0, pull = 0;  // Seconds.
  double slowness = 1;        // Of w0.
};

// Of a worker.
struct Seen {
  int64_t pushes = 0;
  uint64_t missed = 0;         // Updates between what they were computed on and their use.
  double scale = 0;            // Sum of the scales of their learning rates, as last told.
  double first = 0, last = 0;  // Times of counted pushes.
  double period() const { return (last - first) / static_cast<double>(pushes - 1); }
  double mean_missed() const { return static_cast<double>(missed) / static_cast<double>(pushes); }
  double mean_scale() const { return scale / static_cast<double>(pushes); }
};

// From `warm_up` on, when what the beginning left has gone, until `end`.
std::map<WorkerId, Seen> Simulated(const Setting& setting, double warm_up, double end) {
  ClusterOptions options{.policy = setting.spec};
  options.workers.assign(kWorkers, StepOf(1));
  options.workers[0] = StepOf(setting.slowness);
  options.network = {
      .worker_bytes_per_second = 1, .bytes = setting.pull, .push_bytes = setting.push};
  options.learning_rate = 1e-4;
  options.seconds_max = end;
  std::map<WorkerId, Seen> all;
  std::map<WorkerId, double> scales;
  uint64_t version = 0;
  for (const Moment& moment : Play(options).moments) {
    const auto* push = std::get_if<sync::PushArrived>(&moment.event);
    if (push != nullptr && moment.seconds >= warm_up) {
      Seen& seen = all[push->worker];
      if (seen.pushes++ == 0) seen.first = moment.seconds;
      seen.last = moment.seconds;
      seen.missed += version - push->based_on.value();
      seen.scale += scales[push->worker];
    }
    for (const sync::Decision& decision : moment.decisions) {
      if (std::holds_alternative<sync::Commit>(decision)) ++version;
      if (const auto* release = std::get_if<sync::Release>(&decision))
        scales[release->worker] = release->assignment.learning_rate_scale;
    }
  }
  EXPECT_EQ(all.size(), kWorkers);
  return all;
}

sync::PolicySpec SpecOf(Scheme scheme) {
  sync::PolicySpec spec{.scheme = scheme};
  spec.global_batch_size = 10 * kWorkers;
  spec.staleness.reset();
  return spec;
}

std::map<WorkerId, Seen> Simulated(Scheme scheme, double round_trip, double slowness = 1) {
  return Simulated({SpecOf(scheme), round_trip / 2, round_trip / 2, slowness}, 100, 700);
}

// --- Timeline and staleness (4.3).

TEST(PsPlusPaper, EqualWorkersMissTwiceTheUpdatesOfAspAndTheirOwnOne) {
  for (const double round_trip : {0.0, 0.3, 0.9, 1.0, 1.5}) {
    for (const auto& [worker, seen] : Simulated(Scheme::kPsPlus, round_trip))
      EXPECT_DOUBLE_EQ(seen.mean_missed(), 2 * (kWorkers - 1) + 1) << round_trip;
    for (const auto& [worker, seen] : Simulated(Scheme::kAsp, round_trip))
      EXPECT_DOUBLE_EQ(seen.mean_missed(), kWorkers - 1) << round_trip;
  }
}

// The paper's worker waits for the pull before it pushes: a round trip of 1.5 takes it 1.5.
TEST(PsPlusPaper, AnIterationLastsTheLongerOfComputeAndHalfOfBothNotTheirSum) {
  struct Row {
    double round_trip, eager, asynchronous;
  };
  for (const Row row : {Row{0.3, 1.0, 1.3}, Row{0.9, 1.0, 1.9}, Row{1.5, 1.25, 2.5}}) {
    for (const auto& [worker, seen] : Simulated(Scheme::kPsPlus, row.round_trip))
      EXPECT_NEAR(seen.period(), row.eager, 1e-3) << row.round_trip;
    for (const auto& [worker, seen] : Simulated(Scheme::kAsp, row.round_trip))
      EXPECT_NEAR(seen.period(), row.asynchronous, 1e-3) << row.round_trip;
  }
}

TEST(PsPlusPaper, WithDepthOneOverlapGivesAtMostTwiceTheSpeed) {
  for (const double round_trip : {0.2, 0.5, 0.8, 1.0, 1.3, 2.0}) {
    const double eager = Simulated(Scheme::kPsPlus, round_trip)[WorkerId(1)].period();
    const double asynchronous = Simulated(Scheme::kAsp, round_trip)[WorkerId(1)].period();
    EXPECT_LE(asynchronous / eager, 2 + 1e-3) << round_trip;
    EXPECT_NEAR(asynchronous / eager, std::min(1 + round_trip, 2.0), 1e-2);
  }
}

TEST(PsPlusPaper, AStragglerMissesWhatTheOthersDoInTwoOfItsPeriods) {
  struct Row {
    double round_trip, straggler, fast;
  };
  for (const Row row :
       {Row{0, 57, 13.5}, Row{0.5, 57, 13.5}, Row{1, 57, 13.5}, Row{1.5, 45.8, -1}}) {
    auto seen = Simulated(Scheme::kPsPlus, row.round_trip, 4);
    EXPECT_NEAR(seen[WorkerId(0)].mean_missed(), row.straggler, 0.1) << row.round_trip;
    if (row.fast < 0) continue;
    for (uint32_t i = 1; i < kWorkers; ++i)
      EXPECT_NEAR(seen[WorkerId(i)].mean_missed(), row.fast, 0.1) << row.round_trip;
  }
}

TEST(PsPlusPaper, AnAsynchronousStragglerMissesLessTheLongerTheRoundTrip) {
  struct Row {
    double round_trip, straggler;
  };
  for (const Row row : {Row{0, 28}, Row{0.3, 23.2}, Row{0.5, 21}, Row{0.9, 18.1}}) {
    auto seen = Simulated(Scheme::kAsp, row.round_trip, 4);
    EXPECT_NEAR(seen[WorkerId(0)].mean_missed(), row.straggler, 0.1) << row.round_trip;
  }
  auto seen = Simulated(Scheme::kAsp, 0, 4);
  for (uint32_t i = 1; i < kWorkers; ++i) EXPECT_NEAR(seen[WorkerId(i)].mean_missed(), 6.25, 0.05);
}

// Three flows: computing C, pushing U and pulling D.
TEST(PsPlusPaper, APeriodIsTheLongestOfComputingPushingAndPulling) {
  struct Row {
    double push, pull;
  };
  for (const Row row : {Row{0.1, 0.1}, Row{0.6, 0.6}, Row{1, 1}, Row{0.3, 1.4}, Row{1.4, 0.3},
                        Row{2, 2}, Row{0.9, 2}, Row{2, 0.9}, Row{0.1, 3}, Row{3, 0.1}}) {
    const double longest = std::max({1.0, row.push, row.pull});
    const double half = (1 + row.push + row.pull) / 2;
    for (const uint32_t depth : {1u, 2u}) {
      Setting setting{SpecOf(Scheme::kPsPlus), row.push, row.pull};
      setting.spec.depth = depth;
      const double period = Simulated(setting, 100, 700).at(WorkerId(1)).period();
      const double at_most = depth == 1 ? std::max(longest, half) : longest;
      EXPECT_LE(period, at_most + 0.01) << row.push << ' ' << row.pull << ' ' << depth;
      EXPECT_GE(period, std::max(1.0, row.push) - 0.01);
    }
  }
}

TEST(PsPlusPaper, DepthTwoCostsUpdatesOnlyWhereARoundTripDoesNotFitIntoAStep) {
  for (const double round_trip : {0.3, 0.9, 1.2, 2.0}) {
    Setting setting{SpecOf(Scheme::kPsPlus), round_trip / 2, round_trip / 2};
    setting.spec.depth = 2;
    const double missed = Simulated(setting, 100, 700).at(WorkerId(1)).mean_missed();
    const int periods = round_trip <= 1 ? 2 : 3;
    EXPECT_NEAR(missed, periods * (kWorkers - 1) + periods - 1, 0.01) << round_trip;
  }
}

// --- Learning-rate modulation (4.4): rule (15), in the cluster it was worked out for.

TEST(PsPlusPaper, AStragglerFourTimesSlowerPushesAQuarterTheOthersAllOfIt) {
  for (const double round_trip : {0.0, 0.5, 1.0}) {
    auto seen = Simulated(Scheme::kPsPlus, round_trip, 4);
    EXPECT_NEAR(seen[WorkerId(0)].mean_scale(), 0.25, 0.005) << round_trip;
    for (uint32_t i = 1; i < kWorkers; ++i)
      EXPECT_DOUBLE_EQ(seen[WorkerId(i)].mean_scale(), 1) << round_trip;
  }
}

TEST(PsPlusPaper, EqualWorkersPushAllOfTheirSteps) {
  for (const auto& [worker, seen] : Simulated(Scheme::kPsPlus, 0.5))
    EXPECT_DOUBLE_EQ(seen.mean_scale(), 1);
}

TEST(PsPlusPaper, APermanentStragglerIsNotSilencedByTheProgressGap) {
  Setting setting{SpecOf(Scheme::kPsPlus), 0.25, 0.25, 4};
  setting.spec.modulation.rule = sync::Modulation::kProgressGap;
  const auto early = Simulated(setting, 100, 400);
  const auto late = Simulated(setting, 2000, 2300);
  // A window of a few steps counts no fractions of one.
  EXPECT_NEAR(early.at(WorkerId(0)).mean_scale(), 0.25, 0.05);
  EXPECT_NEAR(late.at(WorkerId(0)).mean_scale(), early.at(WorkerId(0)).mean_scale(), 0.01);
  EXPECT_GT(late.at(WorkerId(1)).mean_scale(), 0.9);
}

// --- The bound on staleness (4.5): a parked answer stops a worker one step later.

TEST(PsPlusPaper, WithABoundTheFastGoOnAtTheStragglersPace) {
  for (const uint64_t staleness : {0u, 2u, 8u}) {
    Setting setting{SpecOf(Scheme::kPsPlus), 0.25, 0.25, 4};
    setting.spec.staleness = staleness;
    const auto seen = Simulated(setting, 200, 800);
    for (const auto& [worker, one] : seen) EXPECT_NEAR(one.period(), 4, 0.05) << staleness;
    // Between two pushes of the straggler each of the others pushes once. What was parked comes
    // with a newer version than an answer at once would have.
    for (const auto& [worker, one] : seen) {
      EXPECT_GE(one.mean_missed(), kWorkers - 1) << ToString(worker) << ' ' << staleness;
      EXPECT_LE(one.mean_missed(), 2 * (kWorkers - 1) + 1) << ToString(worker) << ' ' << staleness;
    }
  }
}

}  // namespace
}  // namespace paceline::papers
