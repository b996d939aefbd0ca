#include "lib/optim/schedule.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  };
  for (const auto& test : cases) {
    ScheduleOptions options = Warm(ScheduleKind::kLinear);
    test.spoil(options);
    EXPECT_EQ(Validate(options).code(), StatusCode::kInvalidArgument) << test.want;
    EXPECT_THAT(Message(Validate(options)), testing::HasSubstr(test.want));
  }
}

}  // namespace
}  // namespace paceline::optim
