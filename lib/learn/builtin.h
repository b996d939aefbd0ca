// Defines BuiltIn, the description of the small networks that come with Paceline, for samples and
// tests.
//
//   kSoftmax  one linear layer                                       fc
//   kMlp      linear layers with ReLU between them                   fc1, fc2, ...
//   kCnn      two 3x3 convolutions with ReLU, 2x2 max pooling, then as kMlp    conv1, conv2, fc1,
//   ...
//
// Weights and biases begin uniform in +-1/sqrt(fan in), drawn from SplitMix64(seed) in the order of
// the layout.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace paceline::learn {

enum class BuiltInKind { kSoftmax, kMlp, kCnn };

// "softmax", "mlp", "cnn"; InvalidArgument for anything else.
StatusOr<BuiltInKind> ParseBuiltInKind(std::string_view name);

struct BuiltIn {
  BuiltInKind kind = BuiltInKind::kSoftmax;
  std::vector<int64_t> input_shape;          // Of one sample. kCnn: [channels, height, width].
  int64_t outputs = 0;                       // Classes.
  std::vector<int64_t> hidden = {64};        // Widths of the layers between; not for kSoftmax.
  std::vector<int64_t> channels = {16, 32};  // Of the two convolutions; kCnn only.
};

}  // namespace paceline::learn
