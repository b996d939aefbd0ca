// Gradients, loss and buffers equal to those that PyTorch recorded (tests/golden/learn/record.py).
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/testing/places.h"
#include "lib/learn/training.h"
#include "lib/store/safetensors.h"

namespace paceline::learn {
namespace {

// Absolute and relative: float32 sums in another order differ by a few 1e-7.
constexpr double kTolerance = 1e-6;

struct Recording {
  std::string name;
  std::string loss;
  uint64_t micro_batch_size = 0;
};

std::string File(const std::string& name) { return InSource("tests/golden/learn/") + name; }

template <class T>
std::vector<T> Elements(std::span<const std::byte> bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return elements;
}

class RecordedTest : public ::testing::TestWithParam<Recording> {};

TEST_P(RecordedTest, StepGivesWhatPyTorchGave) {
  const Recording& recording = GetParam();
  const std::string data = File(recording.name + ".safetensors");
  const auto file = store::SafetensorsFile::Open(data);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto training = Training::Create({.model_path = File(recording.name + ".pt"),
                                          .loss = recording.loss,
                                          .train = {.path = data},
                                          .micro_batch_size = recording.micro_batch_size});
  ASSERT_TRUE(training.ok()) << training.status();
  const std::vector<SampleRange> all{{0, 0, (*training)->train_samples()}};

  // Parameters do not move, so that every step must give the same: the first ones are not special,
  // and gradients of one step do not leak into the next.
  for (int step = 0; step < 3; ++step) {
    const auto result = (*training)->Step(all);
    ASSERT_TRUE(result.ok()) << result.status();
    const float want_loss = Elements<float>(file->Find("loss")->bytes)[0];
    EXPECT_NEAR(result->loss, want_loss, kTolerance * std::max(1.0f, want_loss));
    const auto push = (*training)->push();
    size_t compared = 0;
    for (const store::TensorPlace& place : (*training)->layout().tensors()) {
      const bool is_parameter = place.spec.kind == store::TensorKind::kParameter;
      if (!is_parameter && step > 0) continue;
      const auto* want = file->Find((is_parameter ? "gradient." : "buffer.") + place.spec.name);
      ASSERT_NE(want, nullptr) << place.spec.name;
      ASSERT_EQ(want->shape, place.spec.shape) << place.spec.name;
      const auto got = push.subspan(place.offset_bytes, place.size_bytes);
      ++compared;
      if (place.spec.type == store::DataType::kInt64) {
        EXPECT_EQ(Elements<int64_t>(got), Elements<int64_t>(want->bytes)) << place.spec.name;
        continue;
      }
      const std::vector<float> got_values = Elements<float>(got);
      const std::vector<float> want_values = Elements<float>(want->bytes);
      for (size_t i = 0; i < want_values.size(); ++i) {
        const double allowed = kTolerance + kTolerance * std::abs(want_values[i]);
        ASSERT_NEAR(got_values[i], want_values[i], allowed)
            << place.spec.name << " element " << i << " step " << step;
      }
    }
    EXPECT_GE(compared, 8u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedTest,
                         ::testing::Values(Recording{"cnn", ""}, Recording{"cnn", "CrossEntropy"},
                                           Recording{"transformer", "CrossEntropy"},
                                           Recording{"transformer", "CrossEntropy",
                                                     /*micro_batch_size=*/4}),
                         [](const auto& info) {
                           return info.param.name +
                                  (info.param.loss.empty() ? "OwnLoss" : info.param.loss) +
                                  (info.param.micro_batch_size > 0 ? "MicroBatches" : "");
                         });

// The embedding and the last layer are one tensor: it counts once, under one name, and its gradient
// is the whole one (which the comparison above shows).
TEST(RecordedTest, TiedWeightsCountOnce) {
  const auto training = Training::Create({.model_path = File("transformer.pt"),
                                          .loss = "CrossEntropy",
                                          .train = {.path = File("transformer.safetensors")}});
  ASSERT_TRUE(training.ok()) << training.status();
  int tied = 0;
  for (const auto& place : (*training)->layout().tensors()) {
    if (place.spec.shape == std::vector<int64_t>{32, 16}) ++tied;
  }
  EXPECT_EQ(tied, 1);
}

}  // namespace
}  // namespace paceline::learn
