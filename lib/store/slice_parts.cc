#include "lib/store/slice_parts.h"

#include <algorithm>
#include <cmath>

#include "lib/store/kernels.h"

namespace paceline::store {

SliceParts PartsOf(const Layout& layout, const Slice& slice) {
  const auto within = [&](uint64_t offset) {
    return std::clamp(offset, slice.begin_bytes, slice.end_bytes) - slice.begin_bytes;
  };
  return {within(layout.parameter_bytes()), within(layout.float_bytes()),
          within(layout.integer_begin_bytes()), slice.size_bytes()};
}

std::vector<double> BlockSquaredNorms(std::span<const std::byte> bytes, const SliceParts& parts) {
  std::vector<double> norms;
  for (uint64_t begin = 0; begin < parts.parameters_end; begin += kBlockBytes) {
    const uint64_t end = std::min(begin + kBlockBytes, parts.parameters_end);
    norms.push_back(SquaredNorm(View<float>(bytes, begin, end)));
  }
  return norms;
}

Receipt Judge(std::span<const std::byte> push, const SliceParts& parts) {
  Receipt receipt{BlockSquaredNorms(push, parts), true};
  receipt.is_finite =
      std::all_of(receipt.block_squared_norms.begin(), receipt.block_squared_norms.end(),
                  [](double norm) { return std::isfinite(norm); }) &&
      std::isfinite(SquaredNorm(View<float>(push, parts.parameters_end, parts.floats_end)));
  return receipt;
}

}  // namespace paceline::store
