#include "lib/store/slice_parts.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

void PushJudge::See(std::span<const std::byte> push, uint64_t filled_bytes) {
  for (uint64_t begin = norms_.size() * kBlockBytes; begin < parts_.parameters_end;
       begin += kBlockBytes) {
    const uint64_t end = std::min(begin + kBlockBytes, parts_.parameters_end);
    if (end > filled_bytes) return;
    norms_.push_back(SquaredNorm(View<float>(push, begin, end)));
  }
}

Receipt PushJudge::Finish(std::span<const std::byte> push) {
  See(push, push.size());
  return ReceiptOf(std::move(norms_), push, parts_);
}

Receipt ReceiptOf(std::vector<double> block_squared_norms, std::span<const std::byte> push,
                  const SliceParts& parts) {
  Receipt receipt{std::move(block_squared_norms), true};
  receipt.is_finite =
      std::all_of(receipt.block_squared_norms.begin(), receipt.block_squared_norms.end(),
                  [](double norm) { return std::isfinite(norm); }) &&
      std::isfinite(SquaredNorm(View<float>(push, parts.parameters_end, parts.floats_end)));
  return receipt;
}

Receipt Judge(std::span<const std::byte> push, const SliceParts& parts) {
  return PushJudge(parts).Finish(push);
}

}  // namespace paceline::store
