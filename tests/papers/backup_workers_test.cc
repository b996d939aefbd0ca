// How long a step of n workers lasts that waits for k of them, against what follows from the model
// of C. Xu, G. Neglia, N. Sebastianelli, Dynamic backup workers for parallel machine learning,
// 2020, on the simulator's clock.
//
// Round trips are (1 - alpha) + alpha Exp(1) seconds: of mean 1, fixed for alpha = 0, exponential
// for alpha = 1. H_m is the m-th harmonic number. Numbers in tables that no formula gives were
// simulated.
#include <array>
#include <map>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/papers/played.h"

namespace paceline::papers {
namespace {

using sync::LateWorker;

constexpr uint32_t kWorkers = 16;

double Harmonic(uint32_t m) { return m == 0 ? 0 : Harmonic(m - 1) + 1.0 / m; }

// Mean seconds of a step that waits for k, over so many pushes or more.
double StepSeconds(uint32_t k, double alpha, LateWorker late_worker, uint64_t pushes) {
  constexpr size_t kSkipped = 100;
  simulator::ClusterOptions options{.policy = {.scheme = sync::Scheme::kBackupWorkers}};
  options.policy.backup_workers = kWorkers - k;
  options.policy.parts.late_worker = late_worker;
  options.policy.global_batch_size = kWorkers;
  options.workers.assign(kWorkers, StepOf(1));
  for (simulator::ComputeModel& worker : options.workers)
    worker.jitter = simulator::ShiftedExponential{1 - alpha, alpha};
  options.objective.dimensions = 1;
  options.learning_rate = 1e-6;
  options.steps_max = kSkipped + pushes / k;
  const auto life = simulator::Simulate(options);
  if (!life.ok()) throw std::runtime_error(life.status().ToString());
  const auto& versions = life->versions;
  return (versions.back().at_seconds - versions[kSkipped - 1].at_seconds) /
         static_cast<double>(versions.size() - kSkipped);
}

TEST(PushAndInterrupt, AStepTakesTheOrderStatisticOfFreshRoundTrips) {
  EXPECT_NEAR(Harmonic(16) - Harmonic(15), 0.0625, 1e-12);
  EXPECT_NEAR(Harmonic(16) - Harmonic(8), 0.6629, 5e-5);
  EXPECT_NEAR(Harmonic(16), 3.3807, 5e-5);
  for (const double alpha : {0.2, 0.5, 1.0}) {
    for (const uint32_t k : {1, 2, 4, 8, 12, 15, 16}) {
      const double expected = (1 - alpha) + alpha * (Harmonic(kWorkers) - Harmonic(kWorkers - k));
      EXPECT_NEAR(StepSeconds(k, alpha, LateWorker::kInterrupt, 40000) / expected, 1, 0.02)
          << alpha << " " << k;
    }
  }
}

struct PushAndWaitRow {
  double alpha;
  std::array<double, 7> seconds;  // Of kWaitedFor, simulated; that of all is exact.
  uint32_t best;                  // k of most gradients per second.
};

constexpr std::array<uint32_t, 7> kWaitedFor = {1, 2, 4, 8, 12, 14, 16};

class PushAndWait : public ::testing::TestWithParam<PushAndWaitRow> {};

TEST_P(PushAndWait, AStepOfAFixedKTakesItsTime) {
  const PushAndWaitRow& row = GetParam();
  EXPECT_NEAR((1 - row.alpha) + row.alpha * Harmonic(16), row.seconds.back(), 5e-5);
  for (size_t i = 0; i < kWaitedFor.size(); ++i) {
    EXPECT_NEAR(StepSeconds(kWaitedFor[i], row.alpha, LateWorker::kOffer, 40000) / row.seconds[i],
                1, 0.02)
        << kWaitedFor[i];
  }
}

TEST_P(PushAndWait, MostGradientsPerSecondComeFromTheMiddle) {
  std::map<double, uint32_t> by_rate;
  for (uint32_t k = 8; k <= 16; ++k)
    by_rate[k / StepSeconds(k, GetParam().alpha, LateWorker::kOffer, 40000)] = k;
  // The top is flat: neighbours are within a percent.
  EXPECT_NEAR(by_rate.rbegin()->second, GetParam().best, 1);
}

INSTANTIATE_TEST_SUITE_P(
    Alphas, PushAndWait,
    ::testing::Values(PushAndWaitRow{0.2, {.901, .942, .986, 1.052, 1.145, 1.232, 1.4761}, 15},
                      PushAndWaitRow{0.5, {.679, .759, .875, 1.067, 1.327, 1.568, 2.1904}, 13},
                      PushAndWaitRow{1.0, {.296, .450, .679, 1.086, 1.644, 2.113, 3.3807}, 10}),
    [](const auto& info) { return "Tenths" + std::to_string(int(info.param.alpha * 10)); });

}  // namespace
}  // namespace paceline::papers
