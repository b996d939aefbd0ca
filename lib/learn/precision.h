// Defines Precision: what a network's forward pass computes in.
#pragma once

#include <string_view>

namespace paceline::learn {

// Of forward passes and losses, by LibTorch's autocast: it decides for each operator whether the
// reduced type is good enough. Parameters, buffers and gradients are float32 in any case. kFloat16:
// with loss scaling (loss_scaler.h).
enum class Precision { kFloat32, kBFloat16, kFloat16 };

constexpr std::string_view Name(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      return "Float32";
    case Precision::kBFloat16:
      return "BFloat16";
    case Precision::kFloat16:
      return "Float16";
  }
  return "";
}

}  // namespace paceline::learn
