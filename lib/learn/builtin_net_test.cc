#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/builtin.h"
#include "lib/learn/model.h"

namespace paceline::learn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& place : model.layout().tensors()) names.push_back(place.spec.name);
  return names;
}

std::vector<float> Values(Model& model) {
  std::vector<float> values(model.values().size() / sizeof(float));
  std::memcpy(values.data(), model.values().data(), model.values().size());
  return values;
}

TEST(BuiltInTest, SoftmaxIsOneLayer) {
  const auto model = Model::Make(
      {.kind = BuiltInKind::kSoftmax, .input_shape = {1, 8, 8}, .outputs = 10}, 1, Device::kCpu);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Names(**model), ElementsAre("fc.weight", "fc.bias"));
  EXPECT_EQ((*model)->layout().parameter_bytes(), 650 * sizeof(float));
}

TEST(BuiltInTest, MlpHasItsHiddenLayers) {
  const auto model =
      Model::Make({.kind = BuiltInKind::kMlp, .input_shape = {4}, .outputs = 2, .hidden = {5, 3}},
                  1, Device::kCpu);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Names(**model), ElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias",
                                          "fc3.weight", "fc3.bias"));
}

TEST(BuiltInTest, CnnPoolsOnceBeforeItsLinearLayers) {
  const auto model = Model::Make(
      {.kind = BuiltInKind::kCnn, .input_shape = {3, 9, 8}, .outputs = 10}, 1, Device::kCpu);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Names(**model),
              ElementsAre("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc1.weight",
                          "fc1.bias", "fc2.weight", "fc2.bias"));
  EXPECT_THAT((*model)->layout().tensors()[4].spec.shape, ElementsAre(64, 32 * 4 * 4));
}

TEST(BuiltInTest, SeedsFixTheWeights) {
  const BuiltIn options{.kind = BuiltInKind::kMlp, .input_shape = {4}, .outputs = 2};
  const auto one = Model::Make(options, 1, Device::kCpu);
  const auto same = Model::Make(options, 1, Device::kCpu);
  const auto other = Model::Make(options, 2, Device::kCpu);
  EXPECT_EQ(Values(**one), Values(**same));
  EXPECT_NE(Values(**one), Values(**other));
}

TEST(BuiltInTest, WeightsBeginWithinTheBoundOfTheirFanIn) {
  const auto model = Model::Make(
      {.kind = BuiltInKind::kSoftmax, .input_shape = {100}, .outputs = 50}, 1, Device::kCpu);
  double sum_of_squares = 0;
  const std::vector<float> values = Values(**model);
  for (const float value : values) {
    ASSERT_LE(std::abs(value), 0.1f);
    sum_of_squares += value * value;
  }
  EXPECT_NEAR(sum_of_squares / static_cast<double>(values.size()), 0.01 / 3, 0.0003);
}

TEST(BuiltInTest, RefusesOptionsThatAreNoNetwork) {
  const struct {
    BuiltIn options;
    std::string says;
  } cases[] = {
      {{.kind = BuiltInKind::kSoftmax, .outputs = 10}, "input_shape is empty"},
      {{.kind = BuiltInKind::kSoftmax, .input_shape = {4}}, "outputs is 0"},
      {{.kind = BuiltInKind::kMlp, .input_shape = {4}, .outputs = 2, .hidden = {0}},
       "hidden has a size below 1: [0]"},
      {{.kind = BuiltInKind::kCnn, .input_shape = {8, 8}, .outputs = 2},
       "[8, 8], want [channels, height, width]"},
      {{.kind = BuiltInKind::kCnn, .input_shape = {1, 1, 8}, .outputs = 2}, "[1, 1, 8]"},
      {{.kind = BuiltInKind::kCnn, .input_shape = {1, 8, 8}, .outputs = 2, .channels = {}},
       "channels is empty"},
  };
  for (const auto& each : cases) {
    const auto model = Model::Make(each.options, 1, Device::kCpu);
    ASSERT_FALSE(model.ok()) << each.says;
    EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(Message(model.status()), HasSubstr(each.says));
  }
}

TEST(BuiltInTest, KnowsItsKindsByName) {
  EXPECT_EQ(*ParseBuiltInKind("cnn"), BuiltInKind::kCnn);
  EXPECT_THAT(Message(ParseBuiltInKind("CNN").status()), HasSubstr("softmax, mlp or cnn"));
}

}  // namespace
}  // namespace paceline::learn
