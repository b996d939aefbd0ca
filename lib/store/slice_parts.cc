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

SliceParts PartsOf(const Layout& layout) { return PartsOf(layout, {0, layout.total_bytes()}); }

std::vector<double> BlockSquaredNorms(std::span<const std::byte> bytes, const SliceParts& parts) {
  std::vector<double> norms;
  for (uint64_t begin = 0; begin < parts.parameters_end; begin += kBlockBytes) {
    const uint64_t end = std::min(begin + kBlockBytes, parts.parameters_end);
    norms.push_back(SquaredNorm(View<float>(bytes, begin, end)));
  }
  return norms;
}

PushJudge::PushJudge(const SliceParts& parts)
    : parts_(parts), norms_((parts.parameters_end + kBlockBytes - 1) / kBlockBytes) {
  for (uint64_t block = 0; block < norms_.size(); ++block)
    missing_bytes_.push_back(static_cast<uint32_t>(BlockEnd(block) - block * kBlockBytes));
}

uint64_t PushJudge::BlockEnd(uint64_t block) const {
  return std::min((block + 1) * kBlockBytes, parts_.parameters_end);
}

void PushJudge::See(std::span<const std::byte> push, uint64_t begin, uint64_t end) {
  end = std::min(end, parts_.parameters_end);
  while (begin < end) {
    const uint64_t block = begin / kBlockBytes;
    const uint64_t next = std::min(end, BlockEnd(block));
    missing_bytes_[block] -= static_cast<uint32_t>(next - begin);
    if (missing_bytes_[block] == 0)
      norms_[block] = SquaredNorm(View<float>(push, block * kBlockBytes, BlockEnd(block)));
    begin = next;
  }
}

Receipt PushJudge::Finish(std::span<const std::byte> push) {
  for (uint64_t block = 0; block < norms_.size(); ++block) {
    if (missing_bytes_[block] != 0)
      norms_[block] = SquaredNorm(View<float>(push, block * kBlockBytes, BlockEnd(block)));
  }
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
