// Dynamic backup workers against what follows from the paper's model:
// C. Xu, G. Neglia, N. Sebastianelli, Dynamic backup workers for parallel machine learning, 2020.
//
// Round trips are (1 - alpha) + alpha Exp(1) seconds: of mean 1, fixed for alpha = 0, exponential
// for alpha = 1. H_m is the m-th harmonic number. Numbers in tables that no formula gives were
// simulated; all draws are seeded, and made here.

#include <array>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/equal.h"
#include "lib/sync/schemes/dbw/dbw.h"
#include "lib/sync/schemes/dbw/late_arrivals.h"
#include "lib/sync/schemes/engine/engine.h"
#include "lib/sync/testing/virtual_cluster.h"

namespace paceline::sync {
namespace {

using testing::Draws;
using ::testing::Each;
using testing::VirtualCluster;

double Harmonic(uint32_t m) { return m == 0 ? 0 : Harmonic(m - 1) + 1.0 / m; }

VirtualCluster::Workload ShiftedExponential(double alpha, uint64_t seed) {
  return {.round_trip = [alpha, draws = Draws(seed)](WorkerId, Time) mutable {
    return (1 - alpha) + alpha * draws.Exponential();
  }};
}

std::unique_ptr<Policy> With(std::unique_ptr<Quorum> quorum, uint32_t workers) {
  return std::make_unique<Engine>(PolicySpec{.parts = {.late_worker = LateWorker::kOffer},
                                             .global_batch_size = workers,
                                             .workers_expected = workers},
                                  std::move(quorum), std::make_unique<EqualSizer>(workers));
}

// Waits for a number drawn anew for each step, and keeps the times by the number before.
class Wanderer : public Quorum {
 public:
  struct Cell {
    double sum = 0;
    double count = 0;
  };
  using Table = std::map<std::pair<uint32_t, uint32_t>, Cell>;

  Wanderer(uint32_t workers, Table* table) : workers_(workers), table_(table) {}

  void Observe(const StepFact& fact, Time now) override {
    if (std::holds_alternative<StepBegan>(fact)) {
      began_ = now;
      k_ = static_cast<uint32_t>(1 + draws_.Next() % workers_);
    } else if (const auto* push = std::get_if<PushCounted>(&fact)) {
      Cell& cell = (*table_)[{h_, push->rank}];
      cell.sum += ToSeconds(now - began_);
      cell.count += 1;
    } else if (const auto* closed = std::get_if<StepClosed>(&fact)) {
      h_ = closed->pushes;
    }
  }
  uint32_t PushesWanted(uint32_t) const override { return k_; }
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<Wanderer>(*this); }

 private:
  uint32_t workers_;
  Table* table_;
  Draws draws_{11};
  Time began_{};
  uint32_t k_ = 1;
  uint32_t h_ = 1;
};

TEST(PushAndWait, TheTimeToTheKthPushDependsOnTheKBefore) {
  Wanderer::Table table;
  VirtualCluster cluster(With(std::make_unique<Wanderer>(8, &table), 8), 8,
                         ShiftedExponential(1, 3));
  cluster.RunSteps(150000);
  const auto seconds = [&](uint32_t h, uint32_t k) {
    return table[{h, k}].sum / table[{h, k}].count;
  };
  const std::map<uint32_t, std::array<double, 8>> expected = {
      {1, {.403, .753, 1.075, 1.421, 1.819, 2.304, 2.972, 4.186}},
      {4, {.217, .457, .724, 1.033, 1.394, 1.854, 2.537, 3.804}},
      {8, {.1250, .2679, .4345, .6345, .8845, 1.2179, 1.7179, 2.7179}}};
  for (const auto& [h, row] : expected) {
    for (uint32_t k = 1; k <= 8; ++k)
      EXPECT_NEAR(seconds(h, k) / row[k - 1], 1, 0.03) << h << " " << k;
  }
  // After all, nobody is busy: fresh order statistics, exactly.
  for (uint32_t k = 1; k <= 8; ++k)
    EXPECT_NEAR(expected.at(8)[k - 1], Harmonic(8) - Harmonic(8 - k), 5e-5);
  // The constraints of the fit are true.
  for (uint32_t h = 1; h <= 8; ++h) {
    for (uint32_t k = 1; k < 8; ++k) EXPECT_LT(seconds(h, k), seconds(h, k + 1));
  }
  for (uint32_t h = 1; h < 8; ++h) EXPECT_GT(seconds(h, 8), 0.98 * seconds(h + 1, 8));
}

// Waits for a fixed number, and keeps the times of those who came too late for it.
class Latecomers : public FixedBackup {
 public:
  Latecomers(uint32_t workers, uint32_t k, Wanderer::Table* table)
      : FixedBackup(workers - k), workers_(workers), k_(k), table_(table) {}

  void Observe(const StepFact& fact, Time now) override {
    if (const auto* began = std::get_if<StepBegan>(&fact)) {
      version_ = began->version;
      late_.Began(version_, k_, workers_, std::nullopt, now);
    } else if (std::holds_alternative<StepClosed>(fact)) {
      late_.Closed();
    } else if (const auto* push = std::get_if<PushCounted>(&fact)) {
      Keep(late_.Pushed(push->worker, version_, now));
    } else if (const auto* push = std::get_if<PushLate>(&fact)) {
      Keep(late_.Pushed(push->worker, push->based_on, now));
    }
  }
  std::unique_ptr<Quorum> Clone() const override { return std::make_unique<Latecomers>(*this); }

 private:
  void Keep(const std::optional<LateArrivals::Arrival>& arrival) {
    if (!arrival || !arrival->is_late) return;
    Wanderer::Cell& cell = (*table_)[{arrival->h, arrival->rank}];
    cell.sum += arrival->seconds;
    cell.count += 1;
  }

  uint32_t workers_, k_;
  Wanderer::Table* table_;
  LateArrivals late_;
  Version version_;
};

// Mean time to the k-th of `fresh` round trips that begin, and of `busy` ones that are followed by
// another; all exponential of mean 1, so that what is left of a round trip is one.
double OrderStatistic(uint32_t fresh, uint32_t busy, uint32_t k) {
  constexpr double kStep = 1e-3;
  double mean = 0;
  for (double t = kStep / 2; t < 60; t += kStep) {
    std::vector<double> by_count{1};  // Chances that so many have come by then.
    for (uint32_t i = 0; i < fresh + busy; ++i) {
      const double come = i < fresh ? 1 - std::exp(-t) : 1 - std::exp(-t) * (1 + t);
      by_count.push_back(0);
      for (size_t count = by_count.size() - 1; count > 0; --count)
        by_count[count] = by_count[count] * (1 - come) + by_count[count - 1] * come;
      by_count[0] *= 1 - come;
    }
    for (uint32_t count = 0; count < k; ++count) mean += by_count[count] * kStep;
  }
  return mean;
}

// The very times that would be seen if the step waited for them: unseen ranks are no guesses.
TEST(PushAndWait, LatePushesShowTheTimesThatTheStepDidNotWaitFor) {
  constexpr uint32_t kWorkers = 8;
  EXPECT_NEAR(OrderStatistic(8, 0, 8), Harmonic(8), 1e-5);
  for (const uint32_t k : {1u, 4u, 6u}) {
    Wanderer::Table table;
    VirtualCluster cluster(With(std::make_unique<Latecomers>(kWorkers, k, &table), kWorkers),
                           kWorkers, ShiftedExponential(1, 13));
    cluster.RunSteps(150000);
    for (uint32_t rank = 1; rank <= k; ++rank) EXPECT_EQ(table.count({k, rank}), 0u);
    for (uint32_t rank = k + 1; rank <= kWorkers; ++rank) {
      const Wanderer::Cell& cell = table[{k, rank}];
      EXPECT_GT(cell.count, 5000) << k << " " << rank;
      EXPECT_NEAR(cell.sum / cell.count / OrderStatistic(k, kWorkers - k, rank), 1, 0.02)
          << k << " " << rank;
    }
  }
  EXPECT_NEAR(OrderStatistic(4, 4, 8) / 3.804, 1, 0.02);  // As in the table above.
}

// What pushes say of gradients of squared norm `square` and variance `variance` of each push, in
// expectation and without noise; the loss stays.
struct Scalars {
  double square = 1;
  double variance = 1;
};

VirtualCluster::Workload Saying(const Scalars& scalars,
                                std::function<double(WorkerId, Time)> round_trip) {
  return {.round_trip = std::move(round_trip),
          .gradient =
              [scalars](WorkerId) {
                return GradientFacts{.loss = 1, .squared_norm = scalars.square + scalars.variance};
              },
          .apply =
              [scalars](const std::vector<WorkerId>& pushes, double rate_scale) {
                return StepCommitted{
                    .learning_rate = 0.1 * rate_scale,
                    .squared_norm = scalars.square + scalars.variance / double(pushes.size())};
              }};
}

// k of each of `steps` steps, after `warm_up`.
std::vector<uint32_t> ChosenBy(VirtualCluster& cluster, int warm_up, int steps) {
  cluster.RunSteps(static_cast<uint64_t>(warm_up));
  std::vector<uint32_t> chosen;
  for (int i = 0; i < steps; ++i) {
    cluster.RunSteps(1);
    chosen.push_back(cluster.last_pushes());
  }
  return chosen;
}

TEST(ChoiceOfK, EqualWorkersWithoutJitterAreAllWaitedFor) {
  VirtualCluster cluster(With(std::make_unique<Dbw>(DbwOptions{}), 8), 8,
                         Saying({}, [](WorkerId, Time) { return 1.0; }));
  EXPECT_THAT(ChosenBy(cluster, 0, 200), Each(8u));
}

TEST(ChoiceOfK, WithoutVarianceTheFirstPushIsEnough) {
  VirtualCluster cluster(With(std::make_unique<Dbw>(DbwOptions{}), 8), 8,
                         Saying({.square = 1, .variance = 0}, ShiftedExponential(1, 5).round_trip));
  const std::vector<uint32_t> chosen = ChosenBy(cluster, 100, 400);
  // But for one step of two in fifty, which keeps an eye on the variance.
  EXPECT_GT(std::count(chosen.begin(), chosen.end(), 1u), 380);
  // A row that has seen little may take three times for equal, of which the largest is preferred.
  EXPECT_THAT(chosen, Each(::testing::Le(3u)));
  EXPECT_GT(std::count(chosen.begin(), chosen.end(), 2u), 4);
}

TEST(ChoiceOfK, WithoutGradientOnlyAveragingHelps) {
  VirtualCluster cluster(With(std::make_unique<Dbw>(DbwOptions{}), 8), 8,
                         Saying({.square = 0, .variance = 1}, ShiftedExponential(1, 5).round_trip));
  EXPECT_THAT(ChosenBy(cluster, 0, 100), Each(8u));
}

TEST(ChoiceOfK, HoldKeepsTheKBeforeWhenNothingPromisesAGain) {
  double square = 1;
  auto workload = Saying({.square = 1, .variance = 0}, ShiftedExponential(1, 5).round_trip);
  workload.gradient = [&](WorkerId) { return GradientFacts{.loss = 1, .squared_norm = square}; };
  workload.apply = [&](const std::vector<WorkerId>&, double) {
    return StepCommitted{.learning_rate = 0.1, .squared_norm = square};
  };
  VirtualCluster cluster(
      With(std::make_unique<Dbw>(DbwOptions{.window = 3, .no_gain = NoGain::kHold}), 8), 8,
      workload);
  ChosenBy(cluster, 0, 60);
  square = 0;
  EXPECT_THAT(ChosenBy(cluster, 4, 40), Each(::testing::Le(2u)));
}

std::function<double(WorkerId, Time)> HalfSlow(double factor) {
  return [factor](WorkerId worker, Time) { return worker.value() < 4 ? 1.0 : factor; };
}

TEST(ChoiceOfK, OfHalfSlowWorkersTheFastHalfIsWaitedForWhileMoreAreNotWorthIt) {
  // G(8) / G(4) is 1 without variance; all eight take 5 times as long.
  VirtualCluster cluster(With(std::make_unique<Dbw>(DbwOptions{}), 8), 8,
                         Saying({.square = 1, .variance = 0}, HalfSlow(5)));
  EXPECT_THAT(ChosenBy(cluster, 10, 100), Each(::testing::Le(4u)));
}

TEST(ChoiceOfK, BlindTakesMostGradientsPerSecond) {
  // 4 in a second are less than 8 in one and a half...
  VirtualCluster near(With(std::make_unique<Dbw>(DbwOptions{.method = DbwMethod::kBlind}), 8), 8,
                      Saying({.square = 1, .variance = 0}, HalfSlow(1.5)));
  EXPECT_THAT(ChosenBy(near, 10, 50), Each(8u));
  // ...and more than 8 in five.
  VirtualCluster far(With(std::make_unique<Dbw>(DbwOptions{.method = DbwMethod::kBlind}), 8), 8,
                     Saying({.square = 1, .variance = 1e9}, HalfSlow(5)));
  EXPECT_THAT(ChosenBy(far, 20, 50), Each(4u));
}

TEST(ChoiceOfK, FollowsASlowdownOfHalfOfTheWorkers) {
  const Time slows_down = Time{} + Seconds(60);
  VirtualCluster cluster(With(std::make_unique<Dbw>(DbwOptions{}), 8), 8,
                         Saying({.square = 4, .variance = 1}, [=](WorkerId worker, Time now) {
                           return now > slows_down && worker.value() >= 4 ? 5.0 : 1.0;
                         }));
  EXPECT_THAT(ChosenBy(cluster, 10, 30), Each(8u));
  while (cluster.now() < slows_down + Seconds(60)) cluster.RunSteps(1);
  EXPECT_THAT(ChosenBy(cluster, 0, 50), Each(::testing::Le(4u)));
}

// G(8) / G(4) is 2.5 with L at its bound. T(4, 8) / T(4, 4) is about 9 at first and at most 2
// later, which late pushes tell: nothing has to be tried.
TEST(ChoiceOfK, WaitsForAllAgainOnceTheLateAreAsFast) {
  const Time quickens = Time{} + Seconds(60);
  VirtualCluster cluster(With(std::make_unique<Dbw>(DbwOptions{}), 8), 8,
                         Saying({.square = 1, .variance = 3}, [=](WorkerId worker, Time now) {
                           return now < quickens && worker.value() >= 4 ? 5.0 : 1.0;
                         }));
  while (cluster.now() < quickens - Seconds(20)) cluster.RunSteps(1);
  EXPECT_THAT(ChosenBy(cluster, 0, 10), Each(::testing::Le(4u)));
  while (cluster.now() < quickens + Seconds(150)) cluster.RunSteps(1);  // Old times are forgotten.
  EXPECT_THAT(ChosenBy(cluster, 0, 50), Each(8u));
}

// The schedule's rate would be too large, and is never applied: clipping makes steps of length 0.2,
// that take the loss down whatever k is. Taken for steps of that rate they would have brought next
// to nothing, and only averaging more would help.
TEST(ChoiceOfK, ClippedStepsAreWorthWhatTheyBring) {
  constexpr double kSquare = 1, kVariance = 4, kSmoothness = 2, kClipNorm = 0.2;
  double loss = 1e4;
  VirtualCluster::Workload workload;
  workload.round_trip = ShiftedExponential(1, 5).round_trip;
  workload.gradient = [&](WorkerId) {
    return GradientFacts{.loss = loss, .squared_norm = kSquare + kVariance};
  };
  workload.apply = [&](const std::vector<WorkerId>& pushes, double) {
    const double squared_norm = kSquare + kVariance / double(pushes.size());
    const double clip_scale = kClipNorm / std::sqrt(squared_norm);
    loss -= clip_scale * kSquare - kSmoothness / 2 * clip_scale * clip_scale * squared_norm;
    return StepCommitted{
        .learning_rate = 1, .squared_norm = squared_norm, .clip_scale = clip_scale};
  };
  VirtualCluster cluster(With(std::make_unique<Dbw>(DbwOptions{}), 8), 8, workload);
  const std::vector<uint32_t> chosen = ChosenBy(cluster, 100, 400);
  EXPECT_LE(std::accumulate(chosen.begin(), chosen.end(), 0.0) / 400, 3);
}

TEST(LossRule, ARiseRaisesKByOneOrToAll) {
  for (const auto& [rule, expected] :
       {std::pair{LossRule::kBump, 2u}, {LossRule::kJump, 8u}, {LossRule::kOff, 1u}}) {
    double loss = 1;
    auto workload = Saying({.square = 1, .variance = 0}, ShiftedExponential(1, 5).round_trip);
    workload.gradient = [&](WorkerId) { return GradientFacts{.loss = loss, .squared_norm = 1}; };
    VirtualCluster cluster(With(std::make_unique<Dbw>(DbwOptions{.loss_rule = rule}), 8), 8,
                           workload);
    cluster.RunSteps(80);
    while (cluster.last_pushes() != 1) cluster.RunSteps(1);
    loss = 1.5;  // Of pushes that are released from now on.
    uint32_t most = 0;
    for (int step = 0; step < 5; ++step) {
      cluster.RunSteps(1);
      most = std::max(most, cluster.last_pushes());
    }
    EXPECT_EQ(most, expected) << ToString(rule);
  }
}

TEST(LearningRateRule, ScalesTheCommitByItsPushes) {
  DbwOptions options{.rate_rule = RateRule::kProportional};
  for (const auto& [rates, expected] :
       {std::pair<std::vector<double>, double>{{}, 0.125}, {{0.5, 0.75, 1}, 0.5}}) {
    options.rates = rates;
    if (!rates.empty()) options.rate_rule = RateRule::kTable;
    std::map<uint32_t, std::set<double>> scales;
    auto workload = Saying({.square = 1, .variance = 0}, ShiftedExponential(1, 5).round_trip);
    const auto apply = workload.apply;
    workload.apply = [&, apply](const std::vector<WorkerId>& pushes, double scale) {
      scales[static_cast<uint32_t>(pushes.size())].insert(scale);
      return apply(pushes, scale);
    };
    auto dbw = std::make_unique<Dbw>(options);
    VirtualCluster cluster(With(std::move(dbw), 8), 8, workload);
    cluster.RunSteps(300);
    EXPECT_EQ(scales[8], std::set<double>{1});
    if (scales.contains(1)) {
      EXPECT_EQ(scales[1], std::set<double>{expected});
    }
    EXPECT_GE(scales.size(), 1u);
  }
}

}  // namespace
}  // namespace paceline::sync
