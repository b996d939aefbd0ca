// What LB-BSP claims (arXiv 1806.02508; C. Chen, Q. Weng, W. Wang, B. Li, B. Li, SoCC 2020), one
// test a claim or closed form.

#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include "lib/sync/schemes/batching/speed_predictor.h"
#include "lib/sync/schemes/batching/speed_sizer.h"
#include "lib/sync/schemes/batching/stepwise_sizer.h"
#include "lib/sync/schemes/batching/testing.h"

namespace paceline::sync {
namespace {

using testing::Chance;
using testing::PushOf;
using testing::Sum;

struct Step {
  double speed = 0;
  Signals after;  // What is read when the step is over, and the next begins.
};
using Steps = std::vector<Step>;

// CPU availability is taken away and given back by a neighbour, and what is read when a step ends
// is what the next one runs with.
Steps AvailabilityLeads(uint64_t seed, int count) {
  Chance chance(seed);
  Steps steps;
  double share = 1;
  for (int i = 0; i < count; ++i) {
    const double speed = 200 * share * std::exp(0.03 * chance.Normal());
    if (chance.Below(4) == 0) share = 0.3 + 0.7 * chance.Uniform();
    steps.push_back({speed, {.cpu_available = share, .memory_available = 4e9}});
  }
  return steps;
}

// A speed that wanders, and readings that have nothing to do with it.
Steps NoSignal(uint64_t seed, int count, double persistence) {
  Chance chance(seed);
  Steps steps;
  double wander = 0;
  for (int i = 0; i < count; ++i) {
    wander = persistence * wander + 0.15 * chance.Normal();
    steps.push_back(
        {200 * std::exp(wander),
         {.cpu_available = chance.Uniform(), .memory_available = 4e9 * chance.Uniform()}});
  }
  return steps;
}

struct Errors {
  double last_value = 0, mean = 0, predicted = 0;
};

// Root mean squares of log errors from step `from` on, of what is said before each step.
Errors Judge(const Steps& steps, int from) {
  SpeedPredictor mean({.has_network = false});
  SpeedPredictor narx({.has_network = true, .seed = 1});
  Errors errors;
  int count = 0;
  for (int i = 0; i < int(steps.size()); ++i) {
    const double truth = std::log(steps[i].speed);
    if (i >= from) {
      errors.last_value += std::pow(truth - std::log(narx.measured()), 2);
      errors.mean += std::pow(truth - std::log(mean.predicted()), 2);
      errors.predicted += std::pow(truth - std::log(narx.predicted()), 2);
      ++count;
    }
    mean.Measured(steps[i].speed, steps[i].after);
    narx.Measured(steps[i].speed, steps[i].after);
    while (narx.network()->trainings_due() > 0) narx.network()->Train();
  }
  for (double* error : {&errors.last_value, &errors.mean, &errors.predicted})
    *error = std::sqrt(*error / count);
  return errors;
}

// "NARX ... beats history-only predictors" where past and current CPU availability tell of the
// speed to come (schemes 2.5).
TEST(PaperNarx, BeatsMeanAndLastValueWhereAvailabilityLeadsSpeed) {
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const Errors errors = Judge(AvailabilityLeads(seed, 600), 150);
    EXPECT_LT(errors.predicted, 0.5 * errors.mean) << seed;
    EXPECT_LT(errors.predicted, 0.6 * errors.last_value) << seed;
  }
}

// The gate: where there is nothing to be learnt from readings, little is lost against the mean.
TEST(PaperNarx, LosesAtMostFivePercentWhereReadingsTellNothing) {
  for (const double persistence : {0.0, 0.5, 0.9}) {
    for (const uint64_t seed : {1, 2, 3, 4, 5}) {
      const Errors errors = Judge(NoSignal(seed, 600, persistence), 1);
      EXPECT_LT(errors.predicted, 1.05 * errors.mean) << persistence << ' ' << seed;
    }
  }
}

TEST(PaperNarx, TheMeanIsUsedUntilFiftyStepsWereSeen) {
  SpeedPredictor narx({.has_network = true});
  for (const Step& step : AvailabilityLeads(1, 50)) {
    narx.Measured(step.speed, step.after);
    while (narx.network()->trainings_due() > 0) narx.network()->Train();
    EXPECT_FALSE(narx.uses_network());
    EXPECT_EQ(narx.predicted(), narx.mean());
  }
}

TEST(PaperNarx, IsHeldWithinAQuarterAndFourTimesTheMean) {
  SpeedPredictor narx({.has_network = true});
  Chance chance(3);
  for (int i = 0; i < 400; ++i) {
    const bool is_fast = chance.Below(2) == 0;
    narx.Measured(is_fast ? 1e4 : 1, {.cpu_available = chance.Uniform(), .memory_available = {}});
    while (narx.network()->trainings_due() > 0) narx.network()->Train();
    EXPECT_GE(narx.predicted(), SpeedPredictor::kLeast * narx.mean());
    EXPECT_LE(narx.predicted(), SpeedPredictor::kMost * narx.mean());
  }
}

// Plays steps with fixed speeds; gives the mean time of the slowest over the last `count`.
double MeanStep(BatchSizer& sizer, const std::vector<double>& speeds, uint32_t batch, int warm_up,
                int count) {
  std::vector<WorkerId> workers;
  for (size_t i = 0; i < speeds.size(); ++i) {
    workers.push_back(WorkerId(i));
    sizer.Joined(WorkerId(i));
  }
  double sum = 0;
  for (int step = 0; step < warm_up + count; ++step) {
    const std::vector<uint32_t> shares = sizer.ShareOut(workers);
    EXPECT_EQ(Sum(shares), batch);
    double slowest = 0;
    for (size_t i = 0; i < speeds.size(); ++i) {
      const double seconds = shares[i] / speeds[i];
      slowest = std::max(slowest, seconds);
      sizer.Arrived(PushOf(workers[i], shares[i], seconds));
    }
    sizer.StepClosed();
    sizer.StepPublished();
    sizer.UseSpare(64);
    if (step >= warm_up) sum += slowest;
  }
  return sum / count;
}

const std::vector<double> kSpeeds = {429, 628, 917, 429};  // K520, K80, M60 of R2SP's cluster.
constexpr uint32_t kBatch = 2048;

double Bound() {
  double sum = 0;
  for (const double speed : kSpeeds) sum += speed;
  return kBatch / sum;
}

// (10): with x_i = X v_i / sum v all take X / sum v, but for less than one sample.
TEST(PaperClosedForm, StepTimeReachesTheBound) {
  SpeedSizer ema({.global_batch_size = kBatch, .spec = {.strategy = Sizing::kEma}});
  EXPECT_NEAR(MeanStep(ema, kSpeeds, kBatch, 3, 20), Bound(), 1 / 429.0);
  SpeedSizer narx({.global_batch_size = kBatch, .spec = {.strategy = Sizing::kNarx}});
  EXPECT_LT(MeanStep(narx, kSpeeds, kBatch, 3, 200), 1.02 * Bound());
  StepwiseSizer stepwise({.global_batch_size = kBatch, .spec = {.strategy = Sizing::kStepwise}});
  EXPECT_LT(MeanStep(stepwise, kSpeeds, kBatch, 30, 100), 1.05 * Bound());
}

// Schemes 2.10: BSP / LB-BSP = mean(v) / min(v).
TEST(PaperClosedForm, GainOverEqualSharesIsMeanOverLeastSpeed) {
  SpeedSizer ema({.global_batch_size = kBatch, .spec = {.strategy = Sizing::kEma}});
  const double tuned = MeanStep(ema, kSpeeds, kBatch, 3, 20);
  const double equal = kBatch / double(kSpeeds.size()) / 429;
  const double mean = (429 + 628 + 917 + 429) / 4.0;
  EXPECT_NEAR(equal / tuned, mean / 429, 0.01);
}

// (13): the weighted mean of means is the mean over all samples, whoever computed them. A barrier's
// weights are samples and its scale is 1 / their sum (barrier_test.cc); here the algebra.
TEST(PaperClosedForm, WeightedMeanOfMeansIsTheMeanOverAllSamples) {
  Chance chance(2);
  const std::vector<uint32_t> shares = {5, 11, 3};
  double all = 0, weighted = 0;
  for (const uint32_t share : shares) {
    double sum = 0;
    for (uint32_t i = 0; i < share; ++i) sum += chance.Normal();
    all += sum;
    weighted += share * (sum / share);
  }
  EXPECT_NEAR(weighted / double(Sum(shares)), all / 19, 1e-12);
}

// Fixed batch: whatever speeds do, the sum stays X, and with it the rate (2.3).
TEST(PaperClosedForm, TheGlobalBatchNeverChangesWithSpeed) {
  Chance chance(4);
  SpeedSizer narx({.global_batch_size = 257, .spec = {.strategy = Sizing::kNarx}});
  const std::vector<WorkerId> workers = {WorkerId(0), WorkerId(1), WorkerId(2)};
  for (const WorkerId worker : workers) narx.Joined(worker);
  for (int step = 0; step < 300; ++step) {
    const std::vector<uint32_t> shares = narx.ShareOut(workers);
    ASSERT_EQ(Sum(shares), 257u);
    ASSERT_EQ(narx.LearningRateScale(), 1);
    for (size_t i = 0; i < workers.size(); ++i) {
      narx.Arrived(PushOf(workers[i], shares[i], std::exp(2 * chance.Normal())));
    }
    narx.StepClosed();
    narx.StepPublished();
    narx.UseSpare(64);
  }
}

}  // namespace
}  // namespace paceline::sync
