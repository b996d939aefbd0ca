// Tensors as they travel, seen as the numbers that they are.
#pragma once

#include <cstddef>
#include <span>

#include "lib/base/check.h"

namespace paceline::worker {

// The first `size_bytes` of `bytes`, which outlive the result and are aligned for float. Fewer
// bytes are a programming error.
inline std::span<float> Floats(std::span<std::byte> bytes, size_t size_bytes) {
  PACELINE_CHECK(bytes.size() >= size_bytes, "got {} bytes, want {}", bytes.size(), size_bytes);
  return {reinterpret_cast<float*>(bytes.data()), size_bytes / sizeof(float)};
}

inline std::span<const float> Floats(std::span<const std::byte> bytes, size_t size_bytes) {
  PACELINE_CHECK(bytes.size() >= size_bytes, "got {} bytes, want {}", bytes.size(), size_bytes);
  return {reinterpret_cast<const float*>(bytes.data()), size_bytes / sizeof(float)};
}

}  // namespace paceline::worker
