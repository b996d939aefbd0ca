#include "lib/store/grouped_optimizer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/recordings_testing.h"

namespace paceline::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::ReadRecordings;
using testing::RecordedStep;
using testing::Recording;

optim::OptimizerOptions OptionsOf(const Recording& recording) {
  const double decay = recording.options.at("weight_decay");
  if (recording.name == "adamw") return optim::AdamWOptions{.weight_decay = decay};
  if (recording.name == "adagrad") return optim::AdagradOptions{.weight_decay = decay};
  if (recording.name == "lion") return optim::LionOptions{.weight_decay = decay};
  if (recording.name == "lamb") return optim::LambOptions{.weight_decay = decay};
  return optim::SgdOptions{.momentum = recording.options.at("momentum"), .weight_decay = decay};
}

std::vector<optim::ParameterGroup> Groups() {
  return {{.match = {"*.bias", "norm.*"}, .weight_decay = 0.0, .rate_scale = 0.1},
          {.match = {"table.weight"}, .is_frozen = true}};
}

// The steps of several holders of slices, cut wherever it may be, each in parts of so many.
std::vector<float> StepAll(std::vector<GroupedOptimizer>& holders, const std::vector<size_t>& cuts,
                           const std::vector<float>& current, const RecordedStep& step,
                           size_t part) {
  const optim::StepOptions options{.gradient_scale = 0.5, .learning_rate = step.rate};
  std::vector<float> sum = step.gradient, next(current.size());
  for (float& value : sum) value *= 2;
  const auto each_part = [&](const auto& act) {
    for (size_t i = 0; i < holders.size(); ++i) {
      for (size_t at = cuts[i]; at < cuts[i + 1]; at += part)
        act(holders[i], at - cuts[i], at, std::min(part, cuts[i + 1] - at));
    }
  };
  std::vector<TensorNorms> norms;
  each_part([&](GroupedOptimizer& holder, size_t begin, size_t at, size_t size) {
    holder.Norms(begin, std::span(current).subspan(at, size), std::span(sum).subspan(at, size),
                 options, norms);
  });
  for (GroupedOptimizer& holder : holders) holder.SetRatios(TrustRatios(norms));
  each_part([&](GroupedOptimizer& holder, size_t begin, size_t at, size_t size) {
    holder.StepPart(begin, std::span(current).subspan(at, size),
                    std::span<const float>(sum).subspan(at, size), options,
                    std::span(next).subspan(at, size));
  });
  for (GroupedOptimizer& holder : holders) holder.FinishStep();
  return next;
}

class GroupsTest : public ::testing::TestWithParam<Recording> {};

TEST_P(GroupsTest, AgreesWithPyTorchHoweverItIsCut) {
  const Recording& recording = GetParam();
  const Layout layout = Layout::Create(recording.tensors).value();
  const size_t size = recording.initial.size();
  double most = 0;
  for (const std::vector<size_t>& cuts :
       {std::vector<size_t>{0, size}, {0, 20, 36, 55, size}, {0, 0, 42, size, size}}) {
    for (const size_t part : {size, size_t{7}}) {
      std::vector<GroupedOptimizer> holders;
      for (size_t i = 0; i + 1 < cuts.size(); ++i) {
        holders.push_back(
            GroupedOptimizer::Create(OptionsOf(recording), Groups(), layout,
                                     {cuts[i] * sizeof(float), cuts[i + 1] * sizeof(float)})
                .value());
      }
      std::vector<float> now = recording.initial;
      for (const RecordedStep& step : recording.steps) {
        now = StepAll(holders, cuts, now, step, part);
        for (size_t i = 0; i < size; ++i) {
          const double difference = std::abs(now[i] - step.parameters[i]);
          most = std::max(most, difference);
          ASSERT_LE(difference, 2e-6 * std::max(1.0f, std::abs(step.parameters[i])))
              << "element " << i << " of " << holders.size() << " slices";
        }
      }
    }
  }
  RecordProperty("largest_difference", ::testing::PrintToString(most));
}

INSTANTIATE_TEST_SUITE_P(Recorded, GroupsTest, ::testing::ValuesIn(ReadRecordings("groups.txt")),
                         [](const auto& info) { return info.param.name; });

TEST(GroupedOptimizerTest, RecordingsAreAllThere) {
  EXPECT_EQ(ReadRecordings("groups.txt").size(), 5u);
}

Layout SmallLayout() {
  return Layout::Create({{"a.weight", {3}},
                         {"a.bias", {2}},
                         {"b.weight", {4}},
                         {"a.mean", {2}, DataType::kFloat32, TensorKind::kBuffer}})
      .value();
}

TEST(GroupedOptimizerTest, OnlyParametersAreMatched) {
  const std::vector<optim::ParameterGroup> groups = {{.match = {"a.*", "*.mean"}},
                                                     {.match = {"*.weight", "c.*", "a.bias"}}};
  EXPECT_THAT(IdlePatterns(SmallLayout(), groups), ElementsAre("*.mean", "c.*"));
  EXPECT_THAT(IdlePatterns(SmallLayout(), {}), IsEmpty());
  const std::vector<std::string> own = {"c.weight"};
  EXPECT_THAT(IdlePatterns(SmallLayout(), groups, own), ElementsAre("*.mean"));
}

// Two tensors of a group with one of none, or of another, between them.
TEST(GroupedOptimizerTest, WhatLiesBetweenTwoOfAGroupIsNotOfIt) {
  const Layout layout =
      Layout::Create({{"a", {1}}, {"a.bias", {2}}, {"b", {1}}, {"b.bias", {1}}, {"c.bias", {1}}})
          .value();
  const std::vector<optim::ParameterGroup> groups = {{.match = {"*.bias"}, .rate_scale = 0.5}};
  auto grouped = GroupedOptimizer::Create({}, groups, layout, {0, layout.total_bytes()}).value();
  std::vector<float> values(6, 0);
  grouped.StepPart(0, values, std::vector<float>(6, -1), {.learning_rate = 1}, values);
  EXPECT_THAT(values, ElementsAre(1, 0.5f, 0.5f, 1, 0.5f, 0.5f));
}

TEST(GroupedOptimizerTest, NeighboursOfTwoGroupsHaveEachItsOwnRate) {
  const Layout layout = Layout::Create({{"a", {1}}, {"b", {2}}, {"c", {1}}}).value();
  const std::vector<optim::ParameterGroup> groups = {{.match = {"a"}, .rate_scale = 0.5},
                                                     {.match = {"b"}, .rate_scale = 0.25}};
  auto grouped = GroupedOptimizer::Create({}, groups, layout, {0, layout.total_bytes()}).value();
  std::vector<float> values(4, 0);
  grouped.StepPart(0, values, std::vector<float>(4, -1), {.learning_rate = 1}, values);
  EXPECT_THAT(values, ElementsAre(0.5f, 0.25f, 0.25f, 1));
}

TEST(GroupedOptimizerTest, BadGroupsAreRefused) {
  const std::vector<optim::ParameterGroup> groups = {{.match = {"*"}, .rate_scale = -1}};
  EXPECT_EQ(GroupedOptimizer::Create({}, groups, SmallLayout(), {0, 44}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST(GroupedOptimizerTest, ASliceOfBuffersAloneHasNothingToStep) {
  auto grouped =
      GroupedOptimizer::Create(optim::LambOptions{}, {}, SmallLayout(), {36, 44}).value();
  std::vector<TensorNorms> norms;
  grouped.Norms(0, {}, {}, {}, norms);
  EXPECT_THAT(norms, IsEmpty());
  grouped.SetRatios({});
  grouped.StepPart(0, {}, {}, {}, {});
}

std::vector<optim::OptimizerOptions> AllKinds() {
  return {optim::SgdOptions{.momentum = 0.9, .dampening = 0.5, .weight_decay = 0.1},
          optim::AdamWOptions{.weight_decay = 0.1},
          optim::AdagradOptions{.learning_rate_decay = 0.1, .weight_decay = 0.1},
          optim::LionOptions{.weight_decay = 0.1}, optim::LambOptions{.weight_decay = 0.1}};
}

// Which tensors each step leaves out. The second is cut over two holders.
const std::vector<std::vector<uint32_t>> kLeftOut = {{1}, {}, {0, 1}, {2}, {1, 2}, {}, {0, 1, 2}};

// Each tensor is stepped as if there was no other, and as if there were no steps without it.
TEST(GroupedOptimizerTest, ALeftOutTensorIsAsOneWithoutThatStep) {
  const Layout layout = Layout::Create({{"a", {3}}, {"b", {4}}, {"c", {2}}}).value();
  const std::vector<size_t> ends = {3, 7, 9};
  for (const optim::OptimizerOptions& options : AllKinds()) {
    for (const std::vector<size_t>& cuts : {std::vector<size_t>{0, 9}, {0, 5, 9}}) {
      std::vector<GroupedOptimizer> holders;
      for (size_t i = 0; i + 1 < cuts.size(); ++i) {
        holders.push_back(
            GroupedOptimizer::Create(options, {}, layout, {4 * cuts[i], 4 * cuts[i + 1]}).value());
      }
      std::vector<std::vector<GroupedOptimizer>> alone(3);
      for (size_t i = 0; i < 3; ++i) {
        const uint64_t size = layout.tensors()[i].size_bytes;
        const Layout one = Layout::Create({layout.tensors()[i].spec}).value();
        alone[i].push_back(GroupedOptimizer::Create(options, {}, one, {0, size}).value());
      }
      std::vector<float> values = {1, -2, 3, 0.5f, -0.5f, 2, 4, -1, 1};
      for (size_t step = 0; step < kLeftOut.size(); ++step) {
        RecordedStep recorded{.rate = 0.1, .gradient = {}, .parameters = {}};
        for (size_t i = 0; i < 9; ++i)
          recorded.gradient.push_back(std::sin(static_cast<float>(10 * step + i)));
        std::vector<float> want = values;
        for (uint32_t tensor = 0; tensor < 3; ++tensor) {
          if (std::ranges::count(kLeftOut[step], tensor) > 0) continue;
          const size_t begin = tensor == 0 ? 0 : ends[tensor - 1], size = ends[tensor] - begin;
          RecordedStep own = recorded;
          own.gradient.assign(recorded.gradient.begin() + begin,
                              recorded.gradient.begin() + ends[tensor]);
          const std::vector<float> current(values.begin() + begin, values.begin() + ends[tensor]);
          std::ranges::copy(StepAll(alone[tensor], {0, size}, current, own, size),
                            want.begin() + begin);
        }
        for (GroupedOptimizer& holder : holders) holder.LeaveOut(kLeftOut[step]);
        values = StepAll(holders, cuts, values, recorded, 9);
        for (size_t i = 0; i < 9; ++i) {
          ASSERT_NEAR(values[i], want[i], 1e-6) << "kind " << options.index() << " step " << step;
        }
      }
      EXPECT_THAT(holders.back().skipped(),
                  ::testing::UnorderedElementsAreArray(
                      cuts.size() == 2 ? std::vector<SkippedSteps>{{0, 2}, {1, 4}, {2, 3}}
                                       : std::vector<SkippedSteps>{{1, 4}, {2, 3}}));
    }
  }
}

TEST(GroupedOptimizerTest, FrozenOnesCountNothingAndAResetForgetsAll) {
  const std::vector<optim::ParameterGroup> groups = {{.match = {"a.*"}, .is_frozen = true}};
  auto grouped =
      GroupedOptimizer::Create(optim::AdamWOptions{}, groups, SmallLayout(), {0, 44}).value();
  grouped.LeaveOut(std::vector<uint32_t>{0, 1});
  grouped.FinishStep();
  EXPECT_THAT(grouped.skipped(), IsEmpty());
  grouped.LeaveOut(std::vector<uint32_t>{1, 2});
  grouped.LeaveOut({});  // Said anew, it is nothing.
  grouped.FinishStep();
  EXPECT_THAT(grouped.skipped(), IsEmpty());
  grouped.LeaveOut(std::vector<uint32_t>{0, 2});
  grouped.FinishStep();
  EXPECT_THAT(grouped.skipped(), ElementsAre(SkippedSteps{2, 1}));
  EXPECT_EQ(grouped.optimizer().steps(), 3u);
  grouped.Reset();
  EXPECT_THAT(grouped.skipped(), IsEmpty());
  EXPECT_EQ(grouped.optimizer().steps(), 0u);
}

TEST(TrustRatiosTest, AddsUpTheBlocksOfATensor) {
  const std::vector<TensorNorms> norms = {
      {0, {9, 1}}, {1, {4, 16}}, {1, {12, 0}}, {0, {7, 3}}, {3, {0, 5}}};
  const std::vector<TrustRatio> ratios = TrustRatios(norms);
  ASSERT_EQ(ratios.size(), 3u);
  EXPECT_EQ(ratios[0].ratio, 2);  // sqrt(16 / 4)
  EXPECT_EQ(ratios[1].tensor, 1u);
  EXPECT_EQ(ratios[1].ratio, 1);
  EXPECT_EQ(ratios[2].ratio, 1);  // Of a tensor of zeros.
}

}  // namespace
}  // namespace paceline::store
