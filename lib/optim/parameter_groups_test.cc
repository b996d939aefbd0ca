#include "lib/optim/parameter_groups.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::optim {
namespace {

TEST(GroupOfTest, TheFirstThatFitsHasIt) {
  const ParameterGroup groups[] = {{.match = {"head.*", "*.bias"}}, {.match = {"*"}}};
  EXPECT_EQ(GroupOf(groups, "head.weight"), &groups[0]);
  EXPECT_EQ(GroupOf(groups, "stem.bias"), &groups[0]);
  EXPECT_EQ(GroupOf(groups, "stem.weight"), &groups[1]);
  EXPECT_EQ(GroupOf(std::span(groups).first(1), "stem.weight"), nullptr);
}

TEST(ParameterGroupTest, BadNumbersAreRefusedByPlace) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Validate(std::vector<ParameterGroup>{{.match = {"*"}, .weight_decay = 0.0}}),
            OkStatus());
  for (const auto& [group, want] : std::vector<std::pair<ParameterGroup, std::string>>{
           {{.rate_scale = 0}, "rate scale of parameter group 1 must be finite and above 0: got 0"},
           {{.rate_scale = nan}, "rate scale of parameter group 1"},
           {{.weight_decay = -1}, "weight decay of parameter group 1 must be finite and at least"},
           {{.weight_decay = nan}, "weight decay of parameter group 1"}}) {
    const Status status = Validate(std::vector<ParameterGroup>{{}, group});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(status), testing::HasSubstr(want));
  }
}

// Plain steps of 1 x gradient: a rate is what an element moves by.
std::vector<float> Moved(std::span<const Stretch> stretches, size_t begin, size_t size,
                         double rate) {
  auto optimizer = MakeOptimizer(SgdOptions{}, begin + size).value();
  const std::vector<float> current(size, 0), sum(size, -1);
  std::vector<float> next(size, -7);
  StepPart(*optimizer, stretches, begin, current, sum, {.learning_rate = rate}, next);
  return next;
}

TEST(StepPartTest, EachElementMovesAsItsStretchSays) {
  const Stretch stretches[] = {{.begin = 2, .end = 4, .rate_scale = 0.5},
                               {.begin = 4, .end = 5, .is_frozen = true},
                               {.begin = 8, .end = 9, .rate_scale = 2}};
  EXPECT_EQ(Moved(stretches, 0, 10, 1), (std::vector<float>{1, 1, .5f, .5f, 0, 1, 1, 1, 2, 1}));
  EXPECT_EQ(Moved(stretches, 3, 5, 1), (std::vector<float>{.5f, 0, 1, 1, 1}));
  EXPECT_EQ(Moved(stretches, 4, 1, 1), (std::vector<float>{0}));
  EXPECT_EQ(Moved(stretches, 5, 3, 1), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(Moved(stretches, 9, 1, 1), (std::vector<float>{1}));
  EXPECT_EQ(Moved({}, 0, 3, 1), (std::vector<float>{1, 1, 1}));
}

TEST(StepPartTest, WeightDecayIsTheStretchs) {
  auto optimizer = MakeOptimizer(SgdOptions{.weight_decay = 0.5}, 3).value();
  const Stretch stretches[] = {{.begin = 1, .end = 2, .weight_decay = 0.0},
                               {.begin = 2, .end = 3, .weight_decay = 0.25}};
  std::vector<float> values = {1, 1, 1};
  const std::vector<float> sum = {0, 0, 0};
  StepPart(*optimizer, stretches, 0, values, sum, {.learning_rate = 1}, values);
  EXPECT_EQ(values, (std::vector<float>{0.5f, 1, 0.75f}));
}

TEST(StepPartTest, WhatIsFrozenHasNoMomentum) {
  auto optimizer = MakeOptimizer(SgdOptions{.momentum = 0.9, .weight_decay = 0.1}, 2).value();
  const Stretch stretches[] = {{.begin = 0, .end = 1, .is_frozen = true}};
  std::vector<float> values = {3, 3};
  const std::vector<float> sum = {1, 1};
  for (int step = 0; step < 3; ++step) {
    StepPart(*optimizer, stretches, 0, values, sum, {.learning_rate = 0.1}, values);
    optimizer->FinishStep();
  }
  EXPECT_EQ(values[0], 3);
  EXPECT_LT(values[1], 3);
  EXPECT_EQ(optimizer->State()[0].values[0], 0);
  EXPECT_NE(optimizer->State()[0].values[1], 0);
}

}  // namespace
}  // namespace paceline::optim
