// PS+ (Jin et al., IEEE TPDS 2022) on a virtual clock: who misses how many updates, and how long an
// iteration takes, where a push and the pull that answers it take one round trip together.
//
// Workers compute for a fixed time; half of a round trip is the way to the server. A worker of an
// asynchronous scheme waits for its answer. One of PS+ goes on from its own copy, and waits for the
// answer to the push before only when it wants to push again.

#include <cmath>
#include <map>
#include <queue>
#include <tuple>
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
  int64_t round_trip = 0;  // Ticks.
  int64_t slowness = 1;    // Of w0; the others compute for kCompute.
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
        case Kind::kAnswerArrives:
          seen.pulled.push(seen.on_the_way.front());
          seen.on_the_way.pop();
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
  enum class Kind { kAnswerArrives, kStepEnds, kPushArrives };
  struct Answer {
    Version version;
    double scale = 1;
  };
  struct Worker {
    std::queue<Answer> on_the_way, pulled;          // `pulled`: not used yet.
    std::queue<std::pair<Version, double>> pushes;  // On their way: based on, scale.
    uint32_t leases = 0;
    Version base;  // Of the step that it computes, or of the gradient that it has.
    bool is_computing = false, has_gradient = false;
    uint64_t sequence = 0, steps = 0;
  };

  void At(int64_t time, Kind kind, WorkerId worker) {
    happenings_.emplace(time, order_++, kind, worker);
  }

  // What a worker can do at this moment without anybody else.
  void GoOn(WorkerId id, Worker& worker) {
    const bool is_first = worker.steps == 0;
    if (worker.has_gradient && is_eager_) {
      // Step 1 was computed on the first answer; each later push waits for one more.
      Answer answer{worker.base};
      if (worker.steps > 1) {
        if (worker.pulled.empty()) return;
        answer = worker.pulled.front();
        worker.pulled.pop();
      }
      Push(id, worker, answer.scale);
      Begin(id, worker, answer.version);
    } else if (worker.has_gradient) {
      Push(id, worker, 1);
    }
    const bool may_begin = is_first || !is_eager_;
    if (may_begin && !worker.is_computing && !worker.has_gradient && !worker.pulled.empty()) {
      const Answer answer = worker.pulled.front();
      worker.pulled.pop();
      Begin(id, worker, answer.version);
    }
  }

  void Push(WorkerId id, Worker& worker, double scale) {
    worker.has_gradient = false;
    worker.pushes.emplace(worker.base, scale);
    At(now_ + setting_.round_trip / 2, Kind::kPushArrives, id);
  }

  void Begin(WorkerId id, Worker& worker, Version base) {
    ASSERT_GT(worker.leases, 0u) << "a step without a lease";
    --worker.leases;
    worker.base = base;
    worker.is_computing = true;
    ++worker.steps;
    const int64_t slowness = id == WorkerId(0) ? setting_.slowness : 1;
    At(now_ + slowness * kCompute, Kind::kStepEnds, id);
  }

  void PushArrives(WorkerId id, Worker& worker) {
    const auto [based_on, scale] = worker.pushes.front();
    worker.pushes.pop();
    if (now_ >= warm_up_) {
      Seen& seen = seen_[id];
      if (seen.pushes++ == 0) seen.first = now_;
      seen.last = now_;
      seen.missed += version_.value() - based_on.value();
      seen.scale += scale;
    }
    Tell(PushArrived{
        .worker = id, .sequence = Sequence(++worker.sequence), .based_on = based_on, .samples = 1});
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
        worker.on_the_way.push({release->version, release->assignment.learning_rate_scale});
        At(now_ + (setting_.round_trip + 1) / 2, Kind::kAnswerArrives, release->worker);
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

std::map<WorkerId, Cluster::Seen> Simulate(Scheme scheme, double round_trip, int64_t slowness = 1) {
  const auto ticks = static_cast<int64_t>(round_trip * kCompute);
  return Cluster({SpecOf(scheme), ticks, slowness}).Run(100, 1300);
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

TEST(PsPlusPaper, AnIterationLastsTheLongerOfComputeAndRoundTripNotTheirSum) {
  struct Row {
    double round_trip, eager, asynchronous;
  };
  for (const Row row : {Row{0.3, 1.0, 1.3}, Row{0.9, 1.0, 1.9}, Row{1.5, 1.5, 2.5}}) {
    for (const auto& [worker, seen] : Simulate(Scheme::kPsPlus, row.round_trip))
      EXPECT_NEAR(seen.period(), row.eager, 1e-3) << row.round_trip;
    for (const auto& [worker, seen] : Simulate(Scheme::kAsp, row.round_trip))
      EXPECT_NEAR(seen.period(), row.asynchronous, 1e-3) << row.round_trip;
  }
}

TEST(PsPlusPaper, OverlapOfTheRoundTripGivesAtMostTwiceTheSpeed) {
  for (const double round_trip : {0.2, 0.5, 0.8, 1.0, 1.3, 2.0}) {
    const double eager = Simulate(Scheme::kPsPlus, round_trip)[WorkerId(1)].period();
    const double asynchronous = Simulate(Scheme::kAsp, round_trip)[WorkerId(1)].period();
    EXPECT_LE(asynchronous / eager, 2 + 1e-3) << round_trip;
    EXPECT_NEAR(asynchronous / eager, (1 + round_trip) / std::max(1.0, round_trip), 1e-2);
  }
}

TEST(PsPlusPaper, AStragglerMissesWhatTheOthersDoInTwoOfItsPeriods) {
  struct Row {
    double round_trip, straggler, fast;
  };
  for (const Row row :
       {Row{0, 57, 13.5}, Row{0.5, 57, 13.5}, Row{1, 57, 13.5}, Row{1.5, 38.3, -1}}) {
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
  Setting setting{SpecOf(Scheme::kPsPlus), kCompute / 2, 4};
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
    Setting setting{SpecOf(Scheme::kPsPlus), kCompute / 2, 4};
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
