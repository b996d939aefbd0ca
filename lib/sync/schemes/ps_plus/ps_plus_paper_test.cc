// PS+ (Jin et al., IEEE TPDS 2022) on a virtual clock: who misses how many updates, and how long an
// iteration takes, where a push and the pull that answers it take one round trip together.
//
// Workers compute for a fixed time; half of a round trip is the way to the server. A worker of an
// asynchronous scheme waits for its answer. One of PS+ goes on from its own copy: it pushes once
// the push before was answered, pulls meanwhile, and stops only where the version that it has lacks
// more of its own pushes than `depth`.

#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/policy_factory.h"

namespace paceline::sync {
namespace {

constexpr uint32_t kWorkers = 8;
constexpr int64_t kCompute = 1000;  // Ticks of a step of a worker that is not slow.

struct Setting {
  PolicySpec spec;
  int64_t push = 0, pull = 0;  // Ticks.
  int64_t slowness = 1;        // Of w0; the others compute for kCompute.
};

class Cluster {
 public:
  struct Seen {
    int64_t pushes = 0;
    uint64_t missed = 0;  // Updates between what its gradients were computed on and their use.
    double scale = 0;     // Sum of learning-rate scales.
    double period() const { return static_cast<double>(last - first) / kCompute / (pushes - 1); }
    double mean_missed() const { return static_cast<double>(missed) / pushes; }
    double mean_scale() const { return scale / pushes; }
    int64_t first = 0, last = 0;  // Times of counted pushes.
  };

  explicit Cluster(const Setting& setting)
      : setting_(setting),
        is_eager_(setting.spec.scheme == Scheme::kPsPlus),
        policy_(*MakePolicy(setting.spec), setting.spec,
                [](const std::string& violation) { ADD_FAILURE() << violation; }) {
    for (uint32_t i = 0; i < kWorkers; ++i) Tell(WorkerJoined{WorkerId(i)});
  }

  // From `warm_up` on, when what the beginning left has gone, until `end`; both in steps of a
  // worker that is not slow.
  std::map<WorkerId, Seen> Run(int64_t warm_up, int64_t end) {
    warm_up_ = warm_up * kCompute;
    while (std::get<0>(happenings_.top()) < end * kCompute) {
      const auto [time, order, kind, worker] = happenings_.top();
      happenings_.pop();
      now_ = time;
      Worker& seen = workers_[worker];
      switch (kind) {
        case Kind::kAnswered:
          break;
        case Kind::kPulled:
          seen.pulled = std::exchange(seen.pulling, std::nullopt);
          break;
        case Kind::kStepEnds:
          seen.is_computing = false;
          seen.has_gradient = true;
          break;
        case Kind::kPushArrives:
          PushArrives(worker, seen);
          break;
      }
      GoOn(worker, seen);
    }
    return seen_;
  }

 private:
  enum class Kind { kAnswered, kPulled, kStepEnds, kPushArrives };
  struct Answer {
    Version version;
    uint64_t includes = 0;  // Of its own pushes.
  };
  struct Worker {
    std::optional<Answer> wanted, pulling, pulled, base;  // `base`: of its copy.
    std::optional<Version> pushing;                       // What the push on its way is based on.
    Version step_base;  // Of the step that it computes, or of the gradient that it has.
    bool is_computing = false, has_gradient = false;
    uint32_t leases = 0;
    uint64_t sent = 0, answered = 0;
    double scale = 1, sent_scale = 1;
  };

  void At(int64_t time, Kind kind, WorkerId worker) {
    happenings_.emplace(time, order_++, kind, worker);
  }

  // What a worker can do at this moment without anybody else.
  void GoOn(WorkerId id, Worker& worker) {
    const bool is_answered = worker.sent == worker.answered;
    // Named before the next push is sent.
    if (worker.wanted && !worker.pulling && is_answered) {
      worker.pulling = std::exchange(worker.wanted, std::nullopt);
      At(now_ + setting_.pull, Kind::kPulled, id);
    }
    if (worker.has_gradient && is_answered) Push(id, worker);
    if (worker.pulled && !worker.has_gradient && !worker.is_computing) {
      worker.base = std::exchange(worker.pulled, std::nullopt);
      return GoOn(id, worker);
    }
    const uint64_t depth = is_eager_ ? setting_.spec.depth : 0;
    const bool may_begin = worker.base && worker.sent - worker.base->includes <= depth;
    if (may_begin && !worker.is_computing && !worker.has_gradient && worker.leases > 0)
      Begin(id, worker);
  }

  void Push(WorkerId id, Worker& worker) {
    worker.has_gradient = false;
    worker.pushing = worker.step_base;
    worker.sent_scale = worker.scale;
    ++worker.sent;
    At(now_ + setting_.push, Kind::kPushArrives, id);
  }

  void Begin(WorkerId id, Worker& worker) {
    --worker.leases;
    worker.step_base = worker.base->version;
    worker.is_computing = true;
    const int64_t slowness = id == WorkerId(0) ? setting_.slowness : 1;
    At(now_ + slowness * kCompute, Kind::kStepEnds, id);
  }

  void PushArrives(WorkerId id, Worker& worker) {
    const Version based_on = *std::exchange(worker.pushing, std::nullopt);
    if (now_ >= warm_up_) {
      Seen& seen = seen_[id];
      if (seen.pushes++ == 0) seen.first = now_;
      seen.last = now_;
      seen.missed += version_.value() - based_on.value();
      seen.scale += worker.sent_scale;
    }
    Tell(PushArrived{
        .worker = id, .sequence = Sequence(worker.sent), .based_on = based_on, .samples = 1});
  }

  void Tell(const Event& event) {
    std::vector<Decision> decisions;
    policy_.Observe(event, Time(Duration(now_)), decisions);
    std::vector<Version> published;
    for (const Decision& decision : decisions) {
      if (std::holds_alternative<Commit>(decision)) {
        version_ = version_.Next();
        published.push_back(version_);
      } else if (const auto* release = std::get_if<Release>(&decision)) {
        Worker& worker = workers_[release->worker];
        ++worker.leases;
        worker.answered = worker.sent;
        worker.wanted = {release->version, worker.sent};
        worker.scale = release->assignment.learning_rate_scale;
        At(now_, Kind::kAnswered, release->worker);
      } else if (const auto* go_on = std::get_if<Continue>(&decision)) {
        ++workers_[go_on->worker].leases;
      }
    }
    for (const Version version : published) {
      std::vector<Decision> none;
      policy_.Observe(StepCommitted{version}, Time(Duration(now_)), none);
      EXPECT_TRUE(none.empty());
    }
  }

  using Happening = std::tuple<int64_t, int64_t, Kind, WorkerId>;
  const Setting setting_;
  const bool is_eager_;
  CheckedPolicy policy_;
  std::map<WorkerId, Worker> workers_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> happenings_;
  std::map<WorkerId, Seen> seen_;
  Version version_;
  int64_t now_ = 0, order_ = 0, warm_up_ = 0;
};

PolicySpec SpecOf(Scheme scheme) {
  PolicySpec spec{.scheme = scheme};
  spec.global_batch_size = spec.workers_expected = kWorkers;
  spec.staleness.reset();
  return spec;
}

int64_t Ticks(double steps) { return static_cast<int64_t>(steps * kCompute); }

std::map<WorkerId, Cluster::Seen> Simulate(Scheme scheme, double round_trip, int64_t slowness = 1) {
  const int64_t way = Ticks(round_trip / 2);
  return Cluster({SpecOf(scheme), way, way, slowness}).Run(100, 1300);
}

// --- Timeline and staleness (4.3).

TEST(PsPlusPaper, EqualWorkersMissTwiceTheUpdatesOfAspAndTheirOwnOne) {
  for (const double round_trip : {0.0, 0.3, 0.9, 1.0, 1.5}) {
    for (const auto& [worker, seen] : Simulate(Scheme::kPsPlus, round_trip))
      EXPECT_DOUBLE_EQ(seen.mean_missed(), 2 * (kWorkers - 1) + 1) << round_trip;
    for (const auto& [worker, seen] : Simulate(Scheme::kAsp, round_trip))
      EXPECT_DOUBLE_EQ(seen.mean_missed(), kWorkers - 1) << round_trip;
  }
}

// The paper's worker waits for the pull before it pushes: a round trip of 1.5 takes it 1.5.
TEST(PsPlusPaper, AnIterationLastsTheLongerOfComputeAndHalfOfBothNotTheirSum) {
  struct Row {
    double round_trip, eager, asynchronous;
  };
  for (const Row row : {Row{0.3, 1.0, 1.3}, Row{0.9, 1.0, 1.9}, Row{1.5, 1.25, 2.5}}) {
    for (const auto& [worker, seen] : Simulate(Scheme::kPsPlus, row.round_trip))
      EXPECT_NEAR(seen.period(), row.eager, 1e-3) << row.round_trip;
    for (const auto& [worker, seen] : Simulate(Scheme::kAsp, row.round_trip))
      EXPECT_NEAR(seen.period(), row.asynchronous, 1e-3) << row.round_trip;
  }
}

TEST(PsPlusPaper, WithDepthOneOverlapGivesAtMostTwiceTheSpeed) {
  for (const double round_trip : {0.2, 0.5, 0.8, 1.0, 1.3, 2.0}) {
    const double eager = Simulate(Scheme::kPsPlus, round_trip)[WorkerId(1)].period();
    const double asynchronous = Simulate(Scheme::kAsp, round_trip)[WorkerId(1)].period();
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
    auto seen = Simulate(Scheme::kPsPlus, row.round_trip, 4);
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
    auto seen = Simulate(Scheme::kAsp, row.round_trip, 4);
    EXPECT_NEAR(seen[WorkerId(0)].mean_missed(), row.straggler, 0.1) << row.round_trip;
  }
  auto seen = Simulate(Scheme::kAsp, 0, 4);
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
      Setting setting{SpecOf(Scheme::kPsPlus), Ticks(row.push), Ticks(row.pull)};
      setting.spec.depth = depth;
      const double period = Cluster(setting).Run(100, 1300).at(WorkerId(1)).period();
      const double at_most = depth == 1 ? std::max(longest, half) : longest;
      EXPECT_LE(period, at_most + 0.01) << row.push << ' ' << row.pull << ' ' << depth;
      EXPECT_GE(period, std::max(1.0, row.push) - 0.01);
    }
  }
}

TEST(PsPlusPaper, DepthTwoCostsUpdatesOnlyWhereARoundTripDoesNotFitIntoAStep) {
  for (const double round_trip : {0.3, 0.9, 1.2, 2.0}) {
    Setting setting{SpecOf(Scheme::kPsPlus), Ticks(round_trip / 2), Ticks(round_trip / 2)};
    setting.spec.depth = 2;
    const double missed = Cluster(setting).Run(100, 1300).at(WorkerId(1)).mean_missed();
    const int periods = round_trip <= 1 ? 2 : 3;
    EXPECT_NEAR(missed, periods * (kWorkers - 1) + periods - 1, 0.01) << round_trip;
  }
}

// --- Learning-rate modulation (4.4): rule (15), in the cluster it was worked out for.

TEST(PsPlusPaper, AStragglerFourTimesSlowerPushesAQuarterTheOthersAllOfIt) {
  for (const double round_trip : {0.0, 0.5, 1.0}) {
    auto seen = Simulate(Scheme::kPsPlus, round_trip, 4);
    EXPECT_NEAR(seen[WorkerId(0)].mean_scale(), 0.25, 0.005) << round_trip;
    for (uint32_t i = 1; i < kWorkers; ++i)
      EXPECT_DOUBLE_EQ(seen[WorkerId(i)].mean_scale(), 1) << round_trip;
  }
}

TEST(PsPlusPaper, EqualWorkersPushAllOfTheirSteps) {
  for (const auto& [worker, seen] : Simulate(Scheme::kPsPlus, 0.5))
    EXPECT_DOUBLE_EQ(seen.mean_scale(), 1);
}

TEST(PsPlusPaper, APermanentStragglerIsNotSilencedByTheProgressGap) {
  Setting setting{SpecOf(Scheme::kPsPlus), kCompute / 4, kCompute / 4, 4};
  setting.spec.modulation.rule = Modulation::kProgressGap;
  const auto early = Cluster(setting).Run(100, 400);
  const auto late = Cluster(setting).Run(2000, 2300);
  // A window of a few steps counts no fractions of one.
  EXPECT_NEAR(early.at(WorkerId(0)).mean_scale(), 0.25, 0.05);
  EXPECT_NEAR(late.at(WorkerId(0)).mean_scale(), early.at(WorkerId(0)).mean_scale(), 0.01);
  EXPECT_GT(late.at(WorkerId(1)).mean_scale(), 0.9);
}

// --- The bound on staleness (4.5): a parked answer stops a worker one step later.

TEST(PsPlusPaper, WithABoundTheFastGoOnAtTheStragglersPace) {
  for (const uint64_t staleness : {0u, 2u, 8u}) {
    Setting setting{SpecOf(Scheme::kPsPlus), kCompute / 4, kCompute / 4, 4};
    setting.spec.staleness = staleness;
    const auto seen = Cluster(setting).Run(200, 1400);
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
}  // namespace paceline::sync
