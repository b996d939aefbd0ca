// Defines the trainings that several of lib/learn's tests step through.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/learn/testing/files.h"
#include "lib/learn/testing/scripts.h"
#include "lib/learn/training.h"

namespace paceline::learn::testing {

inline std::vector<float> Floats(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Seven samples of three features in two classes.
inline std::string Small(const TestFolder& folder) {
  std::vector<float> inputs(21);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = std::sin(static_cast<float>(i));
  return folder.Write("small.safetensors", Samples({7, 3}, inputs, {0, 1, 0, 1, 1, 0, 1}));
}

inline TrainingOptions Softmax(const TestFolder& folder) {
  return {.built_in = BuiltIn{.kind = BuiltInKind::kMlp, .hidden = {4}},
          .loss = "CrossEntropy",
          .train = {.path = Small(folder)},
          .seed = 3};
}

inline std::unique_ptr<Training> Make(const TrainingOptions& options) {
  auto training = Training::Create(options);
  EXPECT_TRUE(training.ok()) << training.status();
  return training.ok() ? *std::move(training) : nullptr;
}

// A model y = weight * x with a mean squared error of its own, and a buffer that each step in
// training adds 1 to, bound anew ("rebound") or in place.
inline constexpr char kScaled[] = R"(
def forward(self, x):
    if self.training:
        self.rebound = self.rebound + 1
        self.in_place.add_(2)
    return self.weight * x
)";

inline std::unique_ptr<Training> Scaled(const TestFolder& folder, uint64_t micro_batch_size = 0) {
  SaveScript(folder.Path("scaled.pt"),
             {{.name = "weight", .shape = {1}, .value = 3},
              {.name = "rebound", .kind = ScriptKind::kBuffer, .shape = {2}, .value = 10},
              {.name = "in_place", .kind = ScriptKind::kBuffer, .type = "long", .value = 20}},
             kScaled);
  const std::string data = folder.Write(
      "scaled.safetensors", Safetensors({{"inputs", "F32", {4, 1}, Bytes<float>({1, 2, 3, 4})},
                                         {"targets", "F32", {4, 1}, Bytes<float>({0, 0, 0, 0})}}));
  return Make({.model_path = folder.Path("scaled.pt"),
               .loss = "MeanSquaredError",
               .train = {.path = data},
               .eval = DatasetOptions{.path = data},
               .micro_batch_size = micro_batch_size});
}

inline const std::vector<SampleRange> kAllFour{{0, 0, 4}};

}  // namespace paceline::learn::testing
