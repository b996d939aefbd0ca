// Models whose forward takes several tensors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/testing/trainings.h"

namespace paceline::learn {
namespace {

using testing::Bytes;
using testing::Floats;
using ::testing::HasSubstr;
using ::testing::Optional;
using testing::Safetensors;
using testing::SaveScript;
using testing::TestFolder;

class SeveralInputsTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<Training>> Create(const std::string& methods, const std::string& loss,
                                             std::vector<std::string> inputs = {"ids", "dense"}) {
    SaveScript(folder_.Path("wide.pt"), {{.name = "weight", .shape = {1}, .value = 2}}, methods);
    const std::string data = folder_.Write(
        "data.safetensors", Safetensors({{"dense", "F32", {4, 1}, Bytes<float>({0.5, 1, 1.5, 2})},
                                         {"ids", "I64", {4, 1}, Bytes<int64_t>({1, 2, 3, 4})},
                                         {"targets", "F32", {4, 1}, Bytes<float>({0, 0, 0, 0})}}));
    return Training::Create({.model_path = folder_.Path("wide.pt"),
                             .loss = loss,
                             .train = {.path = data, .inputs = inputs},
                             .eval = DatasetOptions{.path = data, .inputs = inputs}});
  }

  const TestFolder folder_;
};

constexpr char kForward[] = R"(
def forward(self, ids, dense):
    return self.weight * (10 * ids + dense)
)";

TEST_F(SeveralInputsTest, GoToForwardInTheOrderThatIsNamed) {
  const auto training = Create(kForward, "MeanSquaredError");
  ASSERT_TRUE(training.ok()) << training.status();
  const auto step = (*training)->Step(testing::kAllFour);
  ASSERT_TRUE(step.ok()) << step.status();
  // Mean of (2 * x)^2 over x = 10.5, 21, 31.5, 42, and its slope, 2 * 2 * x^2.
  EXPECT_NEAR(step->loss, 4 * 826.875, 1e-2);
  EXPECT_NEAR(Floats((*training)->push())[0], 4 * 826.875, 1e-2);

  const auto turned = Create(kForward, "MeanSquaredError", {"dense", "ids"});
  ASSERT_TRUE(turned.ok()) << turned.status();
  EXPECT_NEAR((*turned)->Step(testing::kAllFour)->loss, 4 * 270.0, 1e-2);
}

TEST_F(SeveralInputsTest, GoToTheModelsOwnLossAndMetrics) {
  const std::string own = R"(
def forward(self, ids, dense):
    return self.weight * dense
def loss(self, ids, dense, targets):
    return torch.mean(self.weight * ids * dense + targets)
def metrics(self, ids, dense, targets) -> Dict[str, Tensor]:
    return {"share": torch.mean(ids * dense), "accuracy": torch.mean(dense) / 4}
)";
  const auto training = Create(own, "");
  ASSERT_TRUE(training.ok()) << training.status();
  const auto evaluation = (*training)->Evaluate();
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_NEAR(evaluation->loss, 2 * 3.75, 1e-6);
  EXPECT_NEAR(evaluation->metrics.at("share"), 3.75, 1e-6);
  EXPECT_THAT(evaluation->accuracy, Optional(0.3125));
}

TEST_F(SeveralInputsTest, MetricsOfAnotherNumberOfInputsAreTheModelsOwnAffair) {
  const auto training = Create(std::string(kForward) + R"(
def metrics(self, x, targets) -> Dict[str, Tensor]:
    return {"share": torch.mean(x)}
)",
                               "MeanSquaredError");
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_TRUE((*training)->Evaluate()->metrics.empty());
}

TEST_F(SeveralInputsTest, ThatDoNotFitAreNamed) {
  const auto one = Create("def forward(self, x):\n    return x * self.weight\n", "CrossEntropy");
  ASSERT_FALSE(one.ok());
  EXPECT_THAT(Message(one.status()), HasSubstr("targets of int64"));
  const auto few =
      Create("def forward(self, x):\n    return x * self.weight\n", "MeanSquaredError");
  ASSERT_FALSE(few.ok());
  EXPECT_THAT(Message(few.status()), HasSubstr("the model does not accept inputs of shape [2, 1] "
                                               "of int64"));
  EXPECT_THAT(Message(few.status()), HasSubstr("tensor ids) and shape [2, 1] of float32"));
  EXPECT_THAT(Message(few.status()), HasSubstr("tensor dense)"));
  const auto missing = Create(kForward, "MeanSquaredError", {"ids", "sparse"});
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(Message(missing.status()), HasSubstr("no tensor sparse: its tensors are"));
}

TEST_F(SeveralInputsTest, AreNothingForABuiltInModel) {
  const std::string data =
      folder_.Write("two.safetensors", Safetensors({{"a", "F32", {1, 1}, Bytes<float>({0.5})},
                                                    {"b", "F32", {1, 1}, Bytes<float>({0.5})},
                                                    {"targets", "I64", {1}, Bytes<int64_t>({0})}}));
  const auto training = Training::Create({.built_in = BuiltIn{.kind = BuiltInKind::kSoftmax},
                                          .loss = "CrossEntropy",
                                          .train = {.path = data, .inputs = {"a", "b"}}});
  ASSERT_FALSE(training.ok());
  EXPECT_THAT(Message(training.status()), HasSubstr("takes one tensor of inputs: got 2"));
}

}  // namespace
}  // namespace paceline::learn
