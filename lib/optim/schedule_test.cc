#include "lib/optim/schedule.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"

namespace paceline::optim {
namespace {

// Base 2, a warm-up of 10 steps of 100 samples, 11,000 samples in all, down to a tenth.
ScheduleOptions Warm(ScheduleKind kind) {
  ScheduleOptions options;
  options.base = 2;
  options.warmup_steps = 10;
  options.global_batch = 100;
  options.kind = kind;
  options.total_samples = 11000;
  options.final_factor = 0.1;
  options.step_samples = 3000;
  options.step_factor = 0.5;
  options.power = 3;
  options.decay_share = 0.2;
  options.period_samples = 2000;
  options.period_factor = 3;
  return options;
}

TEST(LearningRateTest, FollowsTheClosedForms) {
  const struct {
    ScheduleKind kind;
    uint64_t committed;
    double want;
  } cases[] = {
      {ScheduleKind::kConstant, 1000, 2},
      {ScheduleKind::kConstant, 1000000, 2},
      {ScheduleKind::kCosine, 1000, 2},
      {ScheduleKind::kCosine, 6000, 2 * 0.55},
      {ScheduleKind::kCosine, 3500, 2 * (0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2)},
      {ScheduleKind::kCosine, 11000, 0.2},
      {ScheduleKind::kCosine, 99000, 0.2},
      {ScheduleKind::kLinear, 1000, 2},
      {ScheduleKind::kLinear, 6000, 2 * 0.55},
      {ScheduleKind::kLinear, 11000, 0.2},
      {ScheduleKind::kLinear, 99000, 0.2},
      {ScheduleKind::kPolynomial, 1000, 2},
      {ScheduleKind::kPolynomial, 6000, 2 * (0.1 + 0.9 * 0.125)},
      {ScheduleKind::kPolynomial, 99000, 0.2},
      {ScheduleKind::kStableDecay, 8799, 2},
      {ScheduleKind::kStableDecay, 9900, 1.1},
      {ScheduleKind::kStableDecay, 99000, 0.2},
      {ScheduleKind::kCosineRestarts, 1000, 2},
      {ScheduleKind::kCosineRestarts, 2000, 2 * 0.55},
      {ScheduleKind::kCosineRestarts, 3000, 2},
      {ScheduleKind::kCosineRestarts, 6000, 2 * 0.55},
      {ScheduleKind::kCosineRestarts, 9000, 2},
      {ScheduleKind::kCosineRestarts, 18000, 2 * 0.55},
      {ScheduleKind::kStep, 1000, 2},
      {ScheduleKind::kStep, 2999, 2},
      {ScheduleKind::kStep, 3000, 1},
      {ScheduleKind::kStep, 6000, 0.5},
      {ScheduleKind::kStep, 99000, 0.2},
  };
  for (const auto& test : cases) {
    EXPECT_NEAR(LearningRate(Warm(test.kind), test.committed), test.want, 1e-12)
        << static_cast<int>(test.kind) << " at " << test.committed;
  }
}

struct RecordedSchedule {
  std::string name;
  std::map<std::string, double> options;
  std::vector<double> rates;  // Of each step.
};

// What PyTorch computed: tests/golden/optim/record.py says how.
std::vector<RecordedSchedule> ReadSchedules() {
  std::ifstream file(InSource("tests/golden/optim/schedules.txt"));
  std::vector<RecordedSchedule> recorded;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string keyword, word;
    line >> keyword;
    if (keyword == "case") line >> recorded.emplace_back().name;
    if (keyword == "option") {
      line >> word;
      line >> recorded.back().options[word];
    }
    if (keyword == "rates") {
      for (double rate = 0; line >> rate;) recorded.back().rates.push_back(rate);
    }
  }
  return recorded;
}

constexpr uint64_t kBatch = 8;

ScheduleOptions OptionsOf(const RecordedSchedule& recorded) {
  const auto option = [&](const char* key, double fallback) {
    const auto found = recorded.options.find(key);
    return found == recorded.options.end() ? fallback : found->second;
  };
  const auto samples = [&](const char* key) {
    return static_cast<uint64_t>(option(key, 0)) * kBatch;
  };
  static const std::map<std::string, ScheduleKind> kKinds = {
      {"cosine", ScheduleKind::kCosine},
      {"linear", ScheduleKind::kLinear},
      {"step", ScheduleKind::kStep},
      {"polynomial", ScheduleKind::kPolynomial},
      {"wsd", ScheduleKind::kStableDecay},
      {"one_cycle", ScheduleKind::kOneCycle},
      {"restarts", ScheduleKind::kCosineRestarts}};
  ScheduleOptions options;
  options.kind = kKinds.at(recorded.name);
  options.base = option("base", 0);
  options.global_batch = kBatch;
  options.warmup_steps = static_cast<uint64_t>(option("warmup", 0));
  options.total_samples = samples("steps");
  options.final_factor = option("final", 0) / options.base;
  options.step_samples = samples("step");
  options.step_factor = option("factor", 1);
  options.power = option("power", options.power);
  options.decay_share = option("share", options.decay_share);
  options.peak_share = option("peak", options.peak_share);
  options.start_divisor = option("start", options.start_divisor);
  options.end_divisor = option("end", options.end_divisor);
  options.period_samples = samples("period");
  options.period_factor = static_cast<uint64_t>(option("longer", 1));
  return options;
}

TEST(LearningRateTest, AgreesWithPyTorchsSchedulers) {
  const std::vector<RecordedSchedule> recorded = ReadSchedules();
  EXPECT_EQ(recorded.size(), 10u);
  double most = 0;
  for (const RecordedSchedule& one : recorded) {
    const ScheduleOptions options = OptionsOf(one);
    ASSERT_EQ(Validate(options), OkStatus()) << one.name;
    ASSERT_EQ(static_cast<double>(one.rates.size()), one.options.at("steps"));
    for (size_t step = 0; step < one.rates.size(); ++step) {
      const double got = LearningRate(options, step * kBatch);
      EXPECT_NEAR(got, one.rates[step], 1e-12) << one.name << " at step " << step;
      most = std::max(most, std::abs(got - one.rates[step]));
    }
  }
  RecordProperty("largest_difference", ::testing::PrintToString(most));
}

TEST(LearningRateTest, WarmUpRisesFromTheFirstStepToTheBase) {
  for (const ScheduleKind kind :
       {ScheduleKind::kConstant, ScheduleKind::kCosine, ScheduleKind::kLinear}) {
    for (uint64_t step = 0; step < 10; ++step) {
      EXPECT_NEAR(LearningRate(Warm(kind), step * 100), 2 * 0.1 * static_cast<double>(step + 1),
                  1e-12);
    }
  }
  EXPECT_NEAR(LearningRate(Warm(ScheduleKind::kConstant), 50), 0.3, 1e-12);
  EXPECT_EQ(LearningRate(Warm(ScheduleKind::kConstant), 999), 2);
}

// With so few steps that the peak is the first one, and with a decay that would begin before the
// warm-up has ended.
TEST(LearningRateTest, ShortRunsKeepTheirShape) {
  ScheduleOptions cycle = Warm(ScheduleKind::kOneCycle);
  cycle.warmup_steps = 0;
  cycle.total_samples = 200;
  cycle.peak_share = 0.3;
  EXPECT_EQ(LearningRate(cycle, 0), 2);
  EXPECT_NEAR(LearningRate(cycle, 100), 2 / 25.0 / 1e4, 1e-12);
  EXPECT_NEAR(LearningRate(cycle, 900), 2 / 25.0 / 1e4, 1e-12);
  cycle.total_samples = 100;
  EXPECT_TRUE(std::isfinite(LearningRate(cycle, 0)));
  ScheduleOptions decay = Warm(ScheduleKind::kStableDecay);
  decay.decay_share = 1;
  EXPECT_EQ(LearningRate(decay, 900), 2);
  EXPECT_EQ(LearningRate(decay, 1000), 2);
  EXPECT_NEAR(LearningRate(decay, 6000), 1.1, 1e-12);
}

TEST(LearningRateTest, DefaultsAreAConstantRateWithoutWarmUp) {
  EXPECT_EQ(Validate(ScheduleOptions{}), OkStatus());
  EXPECT_EQ(LearningRate(ScheduleOptions{}, 0), 0.1);
  EXPECT_EQ(LearningRate(ScheduleOptions{}, 1u << 30), 0.1);
}

TEST(ScheduleOptionsTest, BadFieldsAreRefusedByName) {
  const struct {
    void (*spoil)(ScheduleOptions&);
    const char* want;
  } cases[] = {
      {[](ScheduleOptions& o) { o.base = 0; },
       "base learning rate must be finite and above 0: got 0"},
      {[](ScheduleOptions& o) { o.base = std::numeric_limits<double>::quiet_NaN(); },
       "base learning rate"},
      {[](ScheduleOptions& o) { o.global_batch = 0; }, "global batch must be above 0"},
      {[](ScheduleOptions& o) { o.final_factor = 1.5; },
       "final factor must be between 0 and 1: got 1.5"},
      {[](ScheduleOptions& o) { o.total_samples = 1000; },
       "total samples must be above the warm-up's 1000: got 1000"},
      {[](ScheduleOptions& o) {
         o.kind = ScheduleKind::kStep;
         o.step_samples = 0;
       },
       "step samples must be above 0"},
      {[](ScheduleOptions& o) {
         o.kind = ScheduleKind::kStep;
         o.step_factor = 0;
       },
       "step factor must be"},
      {[](ScheduleOptions& o) { o.power = 0; }, "power must be finite and above 0: got 0"},
      {[](ScheduleOptions& o) { o.decay_share = 1.5; }, "decay share must be above 0 and at most"},
      {[](ScheduleOptions& o) { o.peak_share = 1; }, "peak share must be between 0 and 1: got 1"},
      {[](ScheduleOptions& o) { o.start_divisor = 0.5; }, "divisors must be finite and at least 1"},
      {[](ScheduleOptions& o) { o.end_divisor = 0; }, "divisors must be finite and at least 1"},
      {[](ScheduleOptions& o) { o.period_factor = 0; }, "period factor must be above 0: got 0"},
      {[](ScheduleOptions& o) {
         o.kind = ScheduleKind::kCosineRestarts;
         o.period_samples = 0;
       },
       "period samples must be above 0: got 0"},
      {[](ScheduleOptions& o) {
         o.kind = ScheduleKind::kOneCycle;
         o.warmup_steps = 0;
         o.total_samples = 0;
       },
       "total samples must be above the warm-up's 0: got 0"},
  };
  for (const auto& test : cases) {
    ScheduleOptions options = Warm(ScheduleKind::kLinear);
    test.spoil(options);
    EXPECT_EQ(Validate(options).code(), StatusCode::kInvalidArgument) << test.want;
    EXPECT_THAT(Message(Validate(options)), ::testing::HasSubstr(test.want));
  }
}

}  // namespace
}  // namespace paceline::optim
