// The digits sample trains, through the library's own face, to the accuracy that its README
// promises.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/training.h"

namespace paceline::learn {
namespace {

const std::string kDigits = InSource("deploy/samples/digits/");

TrainingOptions Digits() {
  return {.model_path = kDigits + "cnn.pt",
          .loss = "CrossEntropy",
          .train = {.path = kDigits + "train.safetensors"},
          .eval = DatasetOptions{.path = kDigits + "test.safetensors"},
          .seed = 1};
}

// SGD with momentum on the flat parameters.
class Sgd {
 public:
  explicit Sgd(Training& training)
      : training_(training), velocity_(training.layout().parameter_bytes() / sizeof(float)) {}

  void Apply(float learning_rate) {
    auto* parameters = reinterpret_cast<float*>(training_.parameters().data());
    const auto* gradient = reinterpret_cast<const float*>(training_.push().data());
    for (size_t i = 0; i < velocity_.size(); ++i) {
      velocity_[i] = 0.9f * velocity_[i] + gradient[i];
      parameters[i] -= learning_rate * velocity_[i];
    }
  }

 private:
  Training& training_;
  std::vector<float> velocity_;
};

TEST(DigitsTest, HasItsSamples) {
  const auto training = Training::Create(Digits());
  ASSERT_TRUE(training.ok()) << training.status();
  EXPECT_EQ((*training)->train_samples(), 1437u);
  const auto evaluation = (*training)->Evaluate();
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->samples, 360u);
  EXPECT_LT(evaluation->accuracy, 0.3);
}

TEST(DigitsTest, TrainsToItsAccuracy) {
  const auto created = Training::Create(Digits());
  ASSERT_TRUE(created.ok()) << created.status();
  Training& training = **created;
  Sgd sgd(training);
  for (uint64_t epoch = 0; epoch < 15; ++epoch) {
    for (uint64_t begin = 0; begin < training.train_samples(); begin += 64) {
      const uint64_t end = std::min(begin + 64, training.train_samples());
      const auto result = training.Step(std::vector<SampleRange>{{epoch, begin, end}});
      ASSERT_TRUE(result.ok()) << result.status();
      sgd.Apply(0.05f);
    }
  }
  const auto evaluation = training.Evaluate();
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  std::printf("held-out accuracy %.4f, loss %.4f\n", *evaluation->accuracy, evaluation->loss);
  EXPECT_GE(evaluation->accuracy, 0.98);
}

// Not asserted: times depend on the machine. The first steps and steps of ever-changing size should
// not stand out.
TEST(DigitsTest, PrintsStepTimes) {
  const auto created = Training::Create(Digits());
  ASSERT_TRUE(created.ok()) << created.status();
  Training& training = **created;
  const auto time = [&](const char* what, int steps, auto&& size_of) {
    uint64_t samples = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) {
      const uint64_t size = size_of(i);
      samples += size;
      ASSERT_TRUE(training.Step(std::vector<SampleRange>{{0, 0, size}}).ok());
    }
    const double us =
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%-28s %8.0f us a step, %6.1f us a sample\n", what, us / steps,
                us / static_cast<double>(samples));
  };
  time("first step, 16 samples", 1, [](int) { return 16u; });
  time("steps 2 to 10, 16 samples", 9, [](int) { return 16u; });
  time("next 200, 16 samples", 200, [](int) { return 16u; });
  time("200 of 8 to 24 samples", 200, [](int i) { return 8u + static_cast<unsigned>(i * 7 % 17); });
  time("100 of 64 samples", 100, [](int) { return 64u; });
}

}  // namespace
}  // namespace paceline::learn
