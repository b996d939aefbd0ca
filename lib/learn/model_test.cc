#include "lib/learn/model.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/model_state.h"
#include "lib/learn/testing/files.h"
#include "lib/learn/testing/scripts.h"

namespace paceline::learn {
namespace {

using store::DataType;
using store::TensorKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::SaveScript;
using testing::ScriptKind;
using testing::ScriptTensor;
using testing::TestFolder;

constexpr char kForward[] = "def forward(self, x):\n    return x\n";

StatusOr<std::unique_ptr<Model>> LoadWith(const TestFolder& folder,
                                          const std::vector<ScriptTensor>& tensors,
                                          const std::string& source = kForward) {
  SaveScript(folder.Path("model.pt"), tensors, source);
  return Model::Load(folder.Path("model.pt"), Device::kCpu);
}

// "name:kind:type", in the order of the layout.
std::vector<std::string> Summary(const Model& model) {
  std::vector<std::string> lines;
  for (const auto& place : model.layout().tensors()) {
    lines.push_back(fmt::format("{}:{}:{}", place.spec.name,
                                place.spec.kind == TensorKind::kParameter ? "parameter" : "buffer",
                                place.spec.type == DataType::kFloat32 ? "float32" : "int64"));
  }
  return lines;
}

float FloatAt(Model& model, size_t tensor) {
  float value = 0;
  std::memcpy(&value, model.values().data() + model.layout().tensors()[tensor].offset_bytes,
              sizeof(value));
  return value;
}

TEST(ModelTest, ArrangesParametersThenBuffers) {
  const TestFolder folder;
  const auto model =
      LoadWith(folder, {{.name = "count", .kind = ScriptKind::kBuffer, .type = "long"},
                        {.name = "mean", .kind = ScriptKind::kBuffer, .shape = {3}, .value = 2},
                        {.name = "weight", .shape = {2, 3}, .value = 1},
                        {.name = "bias", .shape = {2}}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Summary(**model),
              ::testing::ElementsAre("weight:parameter:float32", "bias:parameter:float32",
                                     "mean:buffer:float32", "count:buffer:int64"));
  EXPECT_EQ(FloatAt(**model, 0), 1);
  EXPECT_EQ(FloatAt(**model, 2), 2);
}

TEST(ModelTest, ArenasAreAligned) {
  const TestFolder folder;
  const auto model = LoadWith(folder, {{.name = "weight", .shape = {2, 3}}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*model)->values().data()) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*model)->push().data()) % 64, 0u);
  EXPECT_EQ((*model)->values().size(), (*model)->layout().total_bytes());
  EXPECT_EQ((*model)->push().size(), (*model)->layout().total_bytes());
}

TEST(ModelTest, KeepsFrozenParametersAsBuffers) {
  const TestFolder folder;
  const auto model =
      LoadWith(folder, {{.name = "frozen", .kind = ScriptKind::kFrozen, .shape = {2}, .value = 7},
                        {.name = "weight", .shape = {2}}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Summary(**model),
              ::testing::ElementsAre("weight:parameter:float32", "frozen:buffer:float32"));
  EXPECT_EQ(FloatAt(**model, 1), 7);
}

TEST(ModelTest, CountsTiedParametersOnce) {
  const TestFolder folder;
  const auto model = LoadWith(folder, {{.name = "first", .shape = {4}, .value = 1},
                                       {.name = "second", .shape = {4}, .tied_to = "first"}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Summary(**model), ::testing::ElementsAre("first:parameter:float32"));
}

TEST(ModelTest, LeavesMasksOutOfTheLayout) {
  const TestFolder folder;
  const auto model =
      LoadWith(folder, {{.name = "mask", .kind = ScriptKind::kBuffer, .type = "bool", .shape = {2}},
                        {.name = "weight", .shape = {2}}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Summary(**model), ::testing::ElementsAre("weight:parameter:float32"));
}

TEST(ModelTest, DetectsALossOfItsOwn) {
  const TestFolder folder;
  const auto without = LoadWith(folder, {{.name = "weight", .shape = {2}}});
  const auto with =
      LoadWith(folder, {{.name = "weight", .shape = {2}}},
               std::string(kForward) + "def loss(self, x, y):\n    return (x - y).mean()\n");
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_FALSE((*without)->has_loss());
  EXPECT_TRUE((*with)->has_loss());
}

TEST(ModelTest, RefusesATensorOfAnotherTypeByName) {
  const TestFolder folder;
  const auto parameter = LoadWith(
      folder, {{.name = "fine", .shape = {2}}, {.name = "wide", .type = "double", .shape = {2}}});
  EXPECT_EQ(parameter.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(parameter.status()),
              AllOf(HasSubstr("parameter wide"), HasSubstr("Double"), HasSubstr("want float32")));
  const auto buffer = LoadWith(
      folder, {{.name = "fine", .shape = {2}},
               {.name = "wide", .kind = ScriptKind::kBuffer, .type = "double", .shape = {2}}});
  EXPECT_THAT(Message(buffer.status()),
              AllOf(HasSubstr("buffer wide"), HasSubstr("float32 or int64")));
}

TEST(ModelTest, RefusesAModelWithoutParameters) {
  const TestFolder folder;
  const auto model =
      LoadWith(folder, {{.name = "mean", .kind = ScriptKind::kBuffer, .shape = {2}}});
  EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(model.status()), HasSubstr("model.pt"));
}

TEST(ModelTest, RefusesAFileThatIsNoModel) {
  const TestFolder folder;
  const auto model = Model::Load(folder.Write("nonsense.pt", "not a model"), Device::kCpu);
  EXPECT_EQ(model.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(model.status()),
              AllOf(HasSubstr("nonsense.pt"), HasSubstr("torch.jit.save")));
}

TEST(ModelTest, NamesAFileThatIsMissing) {
  const auto model = Model::Load("/nowhere/cnn.pt", Device::kCpu);
  EXPECT_EQ(model.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(Message(model.status()), HasSubstr("/nowhere/cnn.pt"));
}

TEST(ModelTest, KnowsItsDevicesByName) {
  EXPECT_EQ(*ParseDevice("cuda"), Device::kCuda);
  EXPECT_THAT(Message(ParseDevice("gpu").status()), HasSubstr("cpu or cuda"));
}

// It would be added to.
TEST(ModelTest, AStepBeginsWithoutTheGradientsOfAnAbandonedOne) {
  const TestFolder folder;
  const auto model = LoadWith(folder, {{.name = "weight", .shape = {2}, .value = 1}});
  ASSERT_TRUE(model.ok()) << model.status();
  Model::State& state = (*model)->state();
  state.BeginStep();
  state.parameters[0].mutable_grad() = state.gradients[0].clone();
  state.AbandonStep();
  state.BeginStep();
  EXPECT_FALSE(state.parameters[0].grad().defined());
}

}  // namespace
}  // namespace paceline::learn
