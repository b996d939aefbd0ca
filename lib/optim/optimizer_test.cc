#include "lib/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/base/testing/places.h"

namespace paceline::optim {
namespace {

struct RecordedStep {
  double rate = 0;
  std::vector<float> gradient;
  std::vector<float> parameters;
};

// What PyTorch computed, or of Lion and LAMB their papers in PyTorch: tests/golden/optim/record.py
// says how.
struct Recording {
  std::string name;
  std::string kind;
  std::map<std::string, double> options;
  std::vector<float> initial;
  std::vector<RecordedStep> steps;
  std::map<std::string, std::vector<float>> state;
};

std::vector<float> ReadValues(std::istream& line) {
  std::vector<float> values;
  for (std::string word; line >> word;) values.push_back(std::strtof(word.c_str(), nullptr));
  return values;
}

void ReadLine(std::istream& line, std::vector<Recording>& recordings) {
  std::string keyword, word;
  line >> keyword;
  if (keyword == "case") {
    line >> recordings.emplace_back().name;
    return;
  }
  Recording& recording = recordings.back();
  if (keyword == "optimizer") line >> recording.kind;
  if (keyword == "option") line >> word >> recording.options[word];
  if (keyword == "step") line >> recording.steps.emplace_back().rate;
  if (keyword == "gradient") recording.steps.back().gradient = ReadValues(line);
  if (keyword == "state") {
    line >> word;
    recording.state[word] = ReadValues(line);
  }
  if (keyword == "parameters") {
    (recording.steps.empty() ? recording.initial : recording.steps.back().parameters) =
        ReadValues(line);
  }
}

std::vector<Recording> ReadRecordings() {
  std::ifstream file(InSource("tests/golden/optim/vectors.txt"));
  std::vector<Recording> recordings;
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream line(text);
    ReadLine(line, recordings);
  }
  return recordings;
}

double Option(const Recording& recording, const std::string& key, double fallback) {
  const auto found = recording.options.find(key);
  return found == recording.options.end() ? fallback : found->second;
}

OptimizerOptions OptionsOf(const Recording& recording) {
  if (recording.kind == "AdamW") {
    AdamWOptions options;
    options.beta1 = Option(recording, "beta1", options.beta1);
    options.beta2 = Option(recording, "beta2", options.beta2);
    options.epsilon = Option(recording, "eps", options.epsilon);
    options.weight_decay = Option(recording, "weight_decay", options.weight_decay);
    return options;
  }
  if (recording.kind == "Adagrad") {
    AdagradOptions options;
    options.learning_rate_decay = Option(recording, "lr_decay", 0);
    options.initial_accumulator = Option(recording, "initial_accumulator_value", 0);
    options.epsilon = Option(recording, "eps", options.epsilon);
    options.weight_decay = Option(recording, "weight_decay", 0);
    return options;
  }
  if (recording.kind == "Lion") {
    LionOptions options;
    options.beta1 = Option(recording, "beta1", options.beta1);
    options.beta2 = Option(recording, "beta2", options.beta2);
    options.weight_decay = Option(recording, "weight_decay", options.weight_decay);
    return options;
  }
  if (recording.kind == "Lamb") {
    LambOptions options;
    options.beta1 = Option(recording, "beta1", options.beta1);
    options.beta2 = Option(recording, "beta2", options.beta2);
    options.epsilon = Option(recording, "eps", options.epsilon);
    options.weight_decay = Option(recording, "weight_decay", options.weight_decay);
    return options;
  }
  SgdOptions options;
  options.momentum = Option(recording, "momentum", 0);
  options.dampening = Option(recording, "dampening", 0);
  options.weight_decay = Option(recording, "weight_decay", 0);
  options.is_nesterov = Option(recording, "nesterov", 0) != 0;
  return options;
}

// So often after one another that vector loops run as well as their remainders.
constexpr size_t kCopies = 13;

std::vector<float> Tile(const std::vector<float>& values) {
  std::vector<float> tiled;
  for (size_t i = 0; i < kCopies; ++i) tiled.insert(tiled.end(), values.begin(), values.end());
  return tiled;
}

// Of the larger of 1 and the wanted value.
// `most` grows to the largest difference, in shares of the value or of 1.
void ExpectClose(std::span<const float> got, const std::vector<float>& want_once,
                 const std::string& what, double& most) {
  const std::vector<float> want = Tile(want_once);
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) {
    const double unit = std::max(1.0f, std::abs(want[i]));
    ASSERT_NEAR(got[i], want[i], 1e-6 * unit) << what << " at " << i;
    most = std::max(most, std::abs(got[i] - want[i]) / unit);
  }
}

class RecordedTest : public ::testing::TestWithParam<Recording> {};

TEST_P(RecordedTest, AgreesWithPyTorch) {
  const Recording& recording = GetParam();
  auto optimizer = MakeOptimizer(OptionsOf(recording), recording.initial.size() * kCopies);
  ASSERT_TRUE(optimizer.ok()) << optimizer.status();
  std::vector<float> parameters = Tile(recording.initial);
  double most = 0;
  for (size_t i = 0; i < recording.steps.size(); ++i) {
    const RecordedStep& step = recording.steps[i];
    std::vector<float> sum = Tile(step.gradient);
    for (float& value : sum) value *= 4;
    std::vector<float> next(parameters.size());
    StepOptions options{.gradient_scale = 0.25, .learning_rate = step.rate};
    // Of copies of a tensor, both norms are as many times larger.
    options.learning_rate *= TrustRatio((*optimizer)->NormsOfPart(0, parameters, sum, options));
    (*optimizer)->Step(parameters, sum, options, next);
    ExpectClose(next, step.parameters, "parameters after step " + std::to_string(i + 1), most);
    parameters = next;
  }
  for (const auto& [name, values] : recording.state) {
    const auto state = (*optimizer)->State();
    const auto found = std::find_if(state.begin(), state.end(),
                                    [&wanted = name](const auto& s) { return s.name == wanted; });
    ASSERT_NE(found, state.end()) << name;
    ExpectClose(found->values, values, name, most);
  }
  EXPECT_EQ((*optimizer)->steps(), recording.steps.size());
  RecordProperty("largest_difference", ::testing::PrintToString(most));
}

INSTANTIATE_TEST_SUITE_P(Optimizer, RecordedTest, ::testing::ValuesIn(ReadRecordings()),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(RecordingsTest, AreAllThere) { EXPECT_EQ(ReadRecordings().size(), 16u); }

std::vector<float> Wave(size_t size, double frequency) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i)
    values[i] = static_cast<float>(std::sin(frequency * static_cast<double>(i)));
  return values;
}

std::vector<OptimizerOptions> AllKinds() {
  return {SgdOptions{},
          SgdOptions{.momentum = 0.9, .weight_decay = 0.01, .is_nesterov = true},
          AdamWOptions{},
          AdagradOptions{.learning_rate_decay = 0.1, .initial_accumulator = 0.5},
          LionOptions{.weight_decay = 0.1},
          LambOptions{}};
}

TEST(OptimizerTest, PartsAndInPlaceGiveTheSameBitsAsOneStep) {
  constexpr size_t kSize = 1003;
  for (const OptimizerOptions& options : AllKinds()) {
    auto whole = MakeOptimizer(options, kSize).value();
    auto parts = MakeOptimizer(options, kSize).value();
    std::vector<float> a = Wave(kSize, 0.1), b = a;
    for (int step = 0; step < 3; ++step) {
      const std::vector<float> sum = Wave(kSize, 0.3 + step);
      const StepOptions step_options{.gradient_scale = 0.5, .learning_rate = 0.01};
      std::vector<float> next(kSize);
      whole->Step(a, sum, step_options, next);
      a = next;
      for (size_t begin = 0; begin < kSize; begin += 250) {
        const size_t size = std::min<size_t>(250, kSize - begin);
        const std::span<float> part(b.data() + begin, size);
        parts->StepPart(begin, part, std::span<const float>(sum).subspan(begin, size), step_options,
                        part);
      }
      parts->FinishStep();
    }
    EXPECT_EQ(a, b);
  }
}

TEST(OptimizerTest, StateWrittenBackGoesOnAsBefore) {
  constexpr size_t kSize = 37;
  for (const OptimizerOptions& options : AllKinds()) {
    auto first = MakeOptimizer(options, kSize).value();
    std::vector<float> a = Wave(kSize, 0.1);
    first->Step(a, Wave(kSize, 1), {.learning_rate = 0.1}, a);
    auto second = MakeOptimizer(options, kSize).value();
    const auto from = first->State();
    const auto to = second->State();
    ASSERT_EQ(from.size(), to.size());
    for (size_t i = 0; i < from.size(); ++i) {
      EXPECT_EQ(from[i].name, to[i].name);
      std::copy(from[i].values.begin(), from[i].values.end(), to[i].values.begin());
    }
    second->set_steps(first->steps());
    std::vector<float> b = a;
    first->Step(a, Wave(kSize, 2), {.learning_rate = 0.1}, a);
    second->Step(b, Wave(kSize, 2), {.learning_rate = 0.1}, b);
    EXPECT_EQ(a, b);
  }
}

TEST(OptimizerTest, ResetIsAsItWasMade) {
  constexpr size_t kSize = 37;
  for (const OptimizerOptions& options : AllKinds()) {
    auto used = MakeOptimizer(options, kSize).value();
    std::vector<float> a = Wave(kSize, 0.1);
    used->Step(a, Wave(kSize, 1), {.learning_rate = 0.1}, a);
    used->Reset();
    auto fresh = MakeOptimizer(options, kSize).value();
    EXPECT_EQ(used->steps(), 0u);
    std::vector<float> b = a;
    used->Step(a, Wave(kSize, 2), {.learning_rate = 0.1}, a);
    fresh->Step(b, Wave(kSize, 2), {.learning_rate = 0.1}, b);
    EXPECT_EQ(a, b);
  }
}

// As torch.optim does with a parameter whose gradient is None.
TEST(OptimizerTest, WhatStepsLeaveOutHasStateAndStepsOfItsOwn) {
  constexpr size_t kHalf = 37;
  std::vector<OptimizerOptions> kinds = AllKinds();
  kinds.push_back(SgdOptions{.momentum = 0.9, .dampening = 0.5});
  for (const OptimizerOptions& options : kinds) {
    auto both = MakeOptimizer(options, 2 * kHalf).value();
    auto alone = MakeOptimizer(options, kHalf).value();
    std::vector<float> a = Wave(2 * kHalf, 0.1), b(a.begin() + kHalf, a.end());
    uint64_t skipped = 0;
    for (const bool is_left_out : {true, false, true, true, false, false}) {
      const std::vector<float> sum = Wave(kHalf, 0.3 + static_cast<double>(both->steps()));
      const std::span<float> first = std::span(a).first(kHalf), second = std::span(a).last(kHalf);
      both->StepPart(0, first, sum, {.learning_rate = 0.1}, first);
      if (is_left_out) {
        ++skipped;
      } else {
        const StepOptions own{.learning_rate = 0.1, .steps_skipped = skipped};
        EXPECT_EQ(both->NormsOfPart(kHalf, second, sum, own).update,
                  alone->NormsOfPart(0, b, sum, {}).update);
        both->StepPart(kHalf, second, sum, own, second);
        alone->Step(b, sum, {.learning_rate = 0.1}, b);
      }
      both->FinishStep();
      EXPECT_EQ(std::vector(second.begin(), second.end()), b);
    }
    for (size_t i = 0; i < alone->State().size(); ++i) {
      const auto own = both->State()[i].values.last(kHalf), want = alone->State()[i].values;
      EXPECT_TRUE(std::ranges::equal(own, want)) << both->State()[i].name;
    }
  }
}

TEST(OptimizerTest, AnotherWeightDecayForAStepIsTheOptimizersOwnThen) {
  constexpr size_t kSize = 37;
  const std::pair<OptimizerOptions, OptimizerOptions> cases[] = {
      {SgdOptions{.weight_decay = 0.5}, SgdOptions{.weight_decay = 0.1}},
      {AdamWOptions{.weight_decay = 0.5}, AdamWOptions{.weight_decay = 0.1}},
      {AdagradOptions{.weight_decay = 0.5}, AdagradOptions{.weight_decay = 0.1}},
      {LionOptions{.weight_decay = 0.5}, LionOptions{.weight_decay = 0.1}},
      {LambOptions{.weight_decay = 0.5}, LambOptions{.weight_decay = 0.1}},
  };
  for (const auto& [other, own] : cases) {
    auto told = MakeOptimizer(other, kSize).value();
    auto made = MakeOptimizer(own, kSize).value();
    std::vector<float> a = Wave(kSize, 0.1), b = a;
    const StepOptions step{.learning_rate = 0.1, .weight_decay = 0.1};
    const UpdateNorms norms = told->NormsOfPart(0, a, Wave(kSize, 1), step);
    EXPECT_EQ(norms.update, made->NormsOfPart(0, a, Wave(kSize, 1), {}).update);
    told->Step(a, Wave(kSize, 1), step, a);
    made->Step(b, Wave(kSize, 1), {.learning_rate = 0.1}, b);
    EXPECT_EQ(a, b);
  }
}

TEST(OptimizerTest, OnlyLambAsksForNorms) {
  for (const OptimizerOptions& options : AllKinds()) {
    const bool is_lamb = std::holds_alternative<LambOptions>(options);
    EXPECT_EQ(IsLayerWise(options), is_lamb);
    auto optimizer = MakeOptimizer(options, 2).value();
    const std::vector<float> weights = {3, 4}, sum = {1, 1};
    const UpdateNorms norms = optimizer->NormsOfPart(0, weights, sum, {});
    EXPECT_EQ(norms.weights, is_lamb ? 25 : 0);
    EXPECT_EQ(norms.update > 0, is_lamb);
  }
  EXPECT_EQ(TrustRatio({25, 4}), 2.5);
  EXPECT_EQ(TrustRatio({0, 4}), 1);
  EXPECT_EQ(TrustRatio({25, 0}), 1);
}

TEST(OptimizerTest, PlainSgdWithRateMinusOneAddsExactly) {
  auto optimizer = MakeOptimizer(SgdOptions{}, 3).value();
  std::vector<float> values = {1, 0.1f, -3};
  const std::vector<float> delta = {0.5f, 0.7f, 3};
  optimizer->Step(values, delta, {.learning_rate = -1}, values);
  EXPECT_EQ(values, (std::vector<float>{1.5f, 0.1f + 0.7f, 0}));
}

TEST(OptimizerTest, NoElementsAreFine) {
  for (const OptimizerOptions& options : AllKinds()) {
    auto optimizer = MakeOptimizer(options, 0).value();
    optimizer->Step({}, {}, {.learning_rate = 1}, {});
    EXPECT_EQ(optimizer->steps(), 1u);
  }
}

TEST(OptimizerTest, BadOptionsAreRefusedByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    OptimizerOptions options;
    std::string want;
  } cases[] = {
      {SgdOptions{.momentum = 1}, "momentum must be at least 0 and below 1: got 1"},
      {SgdOptions{.momentum = nan}, "momentum must be"},
      {SgdOptions{.dampening = -0.5}, "dampening must be between 0 and 1: got -0.5"},
      {SgdOptions{.weight_decay = -1}, "weight decay must be finite and at least 0: got -1"},
      {SgdOptions{.is_nesterov = true}, "nesterov needs momentum above 0 and dampening 0"},
      {SgdOptions{.momentum = 0.9, .dampening = 0.1, .is_nesterov = true}, "nesterov needs"},
      {AdamWOptions{.beta1 = -0.1}, "beta1 must be"},
      {AdamWOptions{.beta2 = 1}, "beta2 must be"},
      {AdamWOptions{.epsilon = 0}, "epsilon must be a positive float32: got 0"},
      {AdamWOptions{.epsilon = 1e-60}, "epsilon must be"},
      {AdamWOptions{.weight_decay = nan}, "weight decay must be"},
      {AdagradOptions{.learning_rate_decay = -1}, "learning rate decay must be finite"},
      {AdagradOptions{.initial_accumulator = nan}, "initial accumulator must be finite"},
      {AdagradOptions{.epsilon = 0}, "epsilon must be"},
      {AdagradOptions{.weight_decay = -1}, "weight decay must be"},
      {LionOptions{.beta1 = 1}, "beta1 must be"},
      {LionOptions{.beta2 = -1}, "beta2 must be"},
      {LionOptions{.weight_decay = -1}, "weight decay must be"},
      {LambOptions{.beta1 = 1}, "beta1 must be"},
      {LambOptions{.beta2 = 1}, "beta2 must be"},
      {LambOptions{.epsilon = -1}, "epsilon must be"},
      {LambOptions{.weight_decay = nan}, "weight decay must be"},
  };
  for (const auto& test : cases) {
    const Status status = MakeOptimizer(test.options, 1).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << test.want;
    EXPECT_THAT(Message(status), ::testing::HasSubstr(test.want));
  }
}

}  // namespace
}  // namespace paceline::optim
