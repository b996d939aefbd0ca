#include "lib/worker/loop/non_finite.h"

#include <cmath>
#include <cstring>

namespace paceline::worker {
namespace {

bool AreFinite(std::span<const std::byte> floats) {
  for (size_t at = 0; at + sizeof(float) <= floats.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, floats.data() + at, sizeof value);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace

std::string FirstNonFinite(const store::Layout& layout, std::span<const std::byte> values) {
  for (const store::TensorPlace& tensor : layout.tensors()) {
    const bool is_float = tensor.spec.type == store::DataType::kFloat32;
    if (!is_float || tensor.offset_bytes + tensor.size_bytes > values.size()) continue;
    if (!AreFinite(values.subspan(tensor.offset_bytes, tensor.size_bytes))) return tensor.spec.name;
  }
  return {};
}

std::string TensorAt(const store::Layout& layout, uint64_t offset_bytes) {
  for (const store::TensorPlace& tensor : layout.tensors()) {
    if (offset_bytes >= tensor.offset_bytes &&
        offset_bytes < tensor.offset_bytes + tensor.size_bytes)
      return tensor.spec.name;
  }
  return {};
}

}  // namespace paceline::worker
