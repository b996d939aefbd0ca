#include "lib/learn/starting_values.h"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/testing/files.h"
#include "lib/learn/testing/scripts.h"
#include "lib/learn/testing/trainings.h"

namespace paceline::learn {
namespace {

using ::testing::AllOf;
using testing::Bytes;
using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::Safetensors;
using testing::SaveScript;
using testing::ScriptKind;
using testing::TestFolder;

store::Layout SmallLayout() {
  return *store::Layout::Create(
      {{.name = "w", .shape = {2, 1}},
       {.name = "bias", .shape = {}},
       {.name = "count", .type = store::DataType::kInt64, .kind = store::TensorKind::kBuffer}});
}

TEST(StartingValuesTest, AreFoundByNameInAnyOrder) {
  const TestFolder folder;
  const std::string path =
      folder.Write("start.safetensors", Safetensors({{"unused", "F32", {1}, Bytes<float>({9})},
                                                     {"count", "I64", {}, Bytes<int64_t>({7})},
                                                     {"bias", "F32", {}, Bytes<float>({3})},
                                                     {"w", "F32", {2, 1}, Bytes<float>({1, 2})}}));
  const store::Layout layout = SmallLayout();
  std::vector<std::byte> values(layout.total_bytes());
  ASSERT_EQ(ReadStartingValues(path, layout, values), OkStatus());
  EXPECT_THAT(Floats(std::span<const std::byte>(values).first(12)), ElementsAre(1, 2, 3));
  int64_t count = 0;
  std::memcpy(&count, &values[layout.integer_begin_bytes()], sizeof(count));
  EXPECT_EQ(count, 7);
}

TEST(StartingValuesTest, OtherFloatsBecomeFloat32) {
  const TestFolder folder;
  const store::Layout layout = *store::Layout::Create({{.name = "half", .shape = {2}},
                                                       {.name = "brain", .shape = {1}},
                                                       {.name = "twice", .shape = {1}}});
  const std::string path = folder.Write(
      "start.safetensors", Safetensors({{"twice", "F64", {1}, Bytes<double>({0.5})},
                                        {"half", "F16", {2}, Bytes<uint16_t>({0x3c00, 0xc000})},
                                        {"brain", "BF16", {1}, Bytes<uint16_t>({0x4040})}}));
  std::vector<std::byte> values(layout.total_bytes());
  ASSERT_EQ(ReadStartingValues(path, layout, values), OkStatus());
  EXPECT_THAT(Floats(values), ElementsAre(1, -2, 3, 0.5f));
}

TEST(StartingValuesTest, WhatDoesNotFitIsNamed) {
  const TestFolder folder;
  const store::Layout layout = SmallLayout();
  std::vector<std::byte> values(layout.total_bytes());
  const auto error = [&](std::vector<testing::NamedBytes> tensors) {
    const Status status =
        ReadStartingValues(folder.Write("start.safetensors", Safetensors(tensors)), layout, values);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return Message(status);
  };
  EXPECT_THAT(
      error({{"w", "F32", {2, 1}, Bytes<float>({1, 2})}, {"biases", "F32", {}, Bytes<float>({3})}}),
      AllOf(HasSubstr("start.safetensors have no tensor bias, which the model has"),
            HasSubstr("biases")));
  EXPECT_THAT(error({{"w", "F32", {1, 2}, Bytes<float>({1, 2})}}),
              AllOf(HasSubstr("start.safetensors"),
                    HasSubstr("tensor w has shape [1, 2], the model's has [2, 1]")));
  EXPECT_THAT(error({{"w", "I64", {2, 1}, Bytes<int64_t>({1, 2})}}),
              HasSubstr("tensor w is of type I64, the model's is F32"));
  EXPECT_EQ(ReadStartingValues(folder.Path("none.safetensors"), layout, values).code(),
            StatusCode::kNotFound);
}

// y = (a + b) x; b is frozen.
TEST(FrozenTest, HasNoGradientWhicheverWayItGoes) {
  const TestFolder folder;
  SaveScript(folder.Path("sum.pt"),
             {{.name = "a", .shape = {1}, .value = 1}, {.name = "b", .shape = {1}, .value = 2}},
             "def forward(self, x):\n    return (self.a + self.b) * x\n");
  TrainingOptions options = {
      .model_path = folder.Path("sum.pt"),
      .init_path =
          folder.Write("start.safetensors", Safetensors({{"a", "F32", {1}, Bytes<float>({4})},
                                                         {"b", "F32", {1}, Bytes<float>({5})}})),
      .is_frozen = [](std::string_view name) { return name == "b"; },
      .loss = "MeanSquaredError",
      .train = {.path =
                    folder.Write("data.safetensors",
                                 Safetensors({{"inputs", "F32", {2, 1}, Bytes<float>({1, 2})},
                                              {"targets", "F32", {2, 1}, Bytes<float>({0, 0})}}))}};
  const auto training = testing::Make(options);
  ASSERT_NE(training, nullptr);
  EXPECT_THAT(Floats(training->parameters()), ElementsAre(4, 5));
  const std::vector<SampleRange> both{{0, 0, 2}};
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(training->Step(both).ok());
    EXPECT_THAT(Floats(training->push()), ElementsAre(2 * 9 * 2.5f, 0));
    std::vector<float> handed(2, -1);
    ASSERT_TRUE(training
                    ->Step(both, {},
                           [&](uint64_t offset, std::span<const std::byte> part) {
                             std::memcpy(reinterpret_cast<std::byte*>(handed.data()) + offset,
                                         part.data(), part.size());
                           })
                    .ok());
    EXPECT_THAT(handed, ElementsAre(2 * 9 * 2.5f, 0));
  }
  options.is_frozen = [](std::string_view) { return true; };
  const auto none = Training::Create(options);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(Message(none.status()), HasSubstr("all parameters are frozen"));
}

}  // namespace
}  // namespace paceline::learn
