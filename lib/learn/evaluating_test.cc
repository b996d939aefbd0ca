// What is evaluated of models whose outputs are not one tensor, or that judge themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/learn/testing/files.h"
#include "lib/learn/testing/scripts.h"
#include "lib/learn/training.h"

namespace paceline::learn {
namespace {

using testing::Bytes;
using ::testing::HasSubstr;
using ::testing::Optional;
using testing::Safetensors;
using testing::SaveScript;
using testing::TestFolder;

// Four samples of two scores each; the second and third are in another class than the higher
// score's.
class EvaluatingTest : public ::testing::Test {
 protected:
  StatusOr<std::unique_ptr<Training>> Create(const std::string& methods, const std::string& loss) {
    SaveScript(folder_.Path("model.pt"), {{.name = "weight", .shape = {1}, .value = 1}}, methods);
    const std::string data = folder_.Write(
        "data.safetensors",
        Safetensors({{"inputs", "F32", {4, 2}, Bytes<float>({1, 0, 1, 0, 1, 0, 0, 1})},
                     {"targets", "I64", {4}, Bytes<int64_t>({0, 1, 1, 1})}}));
    return Training::Create({.model_path = folder_.Path("model.pt"),
                             .loss = loss,
                             .train = {.path = data},
                             .eval = DatasetOptions{.path = data},
                             .eval_batch_size = 3});
  }

  Evaluation Evaluate(const std::string& methods, const std::string& loss = "") {
    const auto training = Create(methods, loss);
    EXPECT_TRUE(training.ok()) << training.status();
    if (!training.ok()) return {};
    const auto evaluation = (*training)->Evaluate();
    EXPECT_TRUE(evaluation.ok()) << evaluation.status();
    return evaluation.value_or(Evaluation());
  }

  TestFolder folder_;
};

TEST_F(EvaluatingTest, SaysEachBatch) {
  const auto training =
      Create("def forward(self, x):\n    return x * self.weight\n", "CrossEntropy");
  ASSERT_TRUE(training.ok()) << training.status();
  int batches = 0;
  EXPECT_TRUE((*training)->Evaluate([&] { ++batches; }).ok());
  EXPECT_EQ(batches, 2);
}

constexpr char kOwnLoss[] = R"(
def loss(self, x, y):
    return torch.mean(self.weight * x) + 3
)";

TEST_F(EvaluatingTest, AccuracyIsOfTheTensorThatTheRuleNames) {
  const struct {
    const char* forward;
    const char* from;
  } cases[] = {
      {"def forward(self, x):\n    return x * self.weight\n", "what forward returns"},
      {"def forward(self, x):\n    return x * self.weight, -x\n", "element 0 of the tuple"},
      {"def forward(self, x):\n    return 7, x * self.weight\n", "element 1 of the tuple"},
      {"def forward(self, x):\n    return [x * self.weight, -x]\n", "element 0 of the list"},
      {"def forward(self, x):\n    return {\"a\": -x, \"logits\": x * self.weight}\n",
       "\"logits\""},
      {"def forward(self, x):\n    return {\"b\": x * self.weight, \"a\": -x}\n",
       "\"b\" of the dict"},
  };
  for (const auto& each : cases) {
    for (const std::string loss : {"", "CrossEntropy"}) {
      SCOPED_TRACE(each.forward + loss);
      const Evaluation evaluation = Evaluate(std::string(each.forward) + kOwnLoss, loss);
      EXPECT_THAT(evaluation.accuracy, Optional(0.5));
      EXPECT_THAT(evaluation.accuracy_from, HasSubstr(each.from));
      if (!loss.empty()) continue;
      EXPECT_DOUBLE_EQ(evaluation.loss, 3.5);
    }
  }
}

TEST_F(EvaluatingTest, AccuracyThatNobodyCanTellIsUnknownAndTheReasonSaid) {
  const struct {
    const char* forward;
    const char* why;
  } cases[] = {
      {"def forward(self, x):\n    return (3, 4)\n", "a tuple without a tensor"},
      {"def forward(self, x):\n    return 3\n", "Int, which forward returns"},
      {"def forward(self, x):\n    return torch.mean(x)\n", "of shape [], holds no classes"},
      {"def forward(self, x, y):\n    return x\n", "forward fails on inputs alone"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.forward);
    const Evaluation evaluation = Evaluate(std::string(each.forward) + kOwnLoss);
    EXPECT_EQ(evaluation.accuracy, std::nullopt);
    EXPECT_THAT(evaluation.accuracy_from, HasSubstr(each.why));
    EXPECT_DOUBLE_EQ(evaluation.loss, 3.5);
    EXPECT_EQ(evaluation.samples, 4u);
  }
}

TEST_F(EvaluatingTest, TheModelsMetricsAreMeansOverSamplesAndItsAccuracyCounts) {
  const Evaluation evaluation = Evaluate(std::string(R"(
def forward(self, x):
    return x
def metrics(self, x, y) -> Dict[str, Tensor]:
    return {"rows": torch.sum(x), "accuracy": torch.mean(x)}
)") + kOwnLoss);
  // Three samples of sum 1 each together, and one alone.
  EXPECT_DOUBLE_EQ(evaluation.metrics.at("rows"), (3.0 * 3 + 1) / 4);
  EXPECT_THAT(evaluation.accuracy, Optional(::testing::DoubleNear(0.5, 1e-6)));
  EXPECT_EQ(evaluation.accuracy_from, "the model's metrics");
}

TEST_F(EvaluatingTest, MetricsThatDoNotWorkAreSaidAtTheStartAndOthersAreNoneOfOurs) {
  const auto broken = Create(std::string(R"(
def forward(self, x):
    return x
def metrics(self, x, y) -> Dict[str, Tensor]:
    return {"each": x}
)") + kOwnLoss,
                             "");
  EXPECT_EQ(broken.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(broken.status()),
              ::testing::AllOf(HasSubstr("the model's metrics"), HasSubstr("want a scalar")));
  const Evaluation evaluation = Evaluate(std::string(R"(
def forward(self, x):
    return x
def metrics(self, x):
    return x
)") + kOwnLoss);
  EXPECT_TRUE(evaluation.metrics.empty());
  EXPECT_THAT(evaluation.accuracy, Optional(0.5));
}

}  // namespace
}  // namespace paceline::learn
