#include "lib/rpc/shared_memory/judged_copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "lib/store/kernels.h"

namespace paceline::rpc {
namespace {

using store::kBlockBytes;
using store::View;

// Copies past the cache what a shard reads only later. Floats, but for what is left at the end.
void CopyOut(std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t floats = from.size() / sizeof(float) * sizeof(float);
  store::StreamCopy(View<float>(from, 0, floats), View<float>(to, 0, floats));
  if (floats < from.size()) std::memcpy(&to[floats], &from[floats], from.size() - floats);
}

}  // namespace

JudgedCopy::JudgedCopy(const store::SliceParts& parts, std::span<std::byte> into)
    : parts_(parts), into_(into), norms_((parts.parameters_end + kBlockBytes - 1) / kBlockBytes) {}

void JudgedCopy::Put(uint64_t offset_bytes, std::span<const std::byte> part) {
  uint64_t done = 0;
  while (done < part.size()) {
    const uint64_t begin = offset_bytes + done;
    const uint64_t block = begin / kBlockBytes;
    const uint64_t size = std::min((block + 1) * kBlockBytes - begin, part.size() - done);
    const auto piece = part.subspan(done, size);
    const bool is_whole =
        block < norms_.size() && begin == block * kBlockBytes &&
        begin + size >= std::min((block + 1) * kBlockBytes, parts_.parameters_end);
    if (is_whole) {
      const uint64_t parameters = std::min(size, parts_.parameters_end - begin);
      norms_[block] = store::SquaredNorm(View<float>(piece, 0, parameters));
    }
    CopyOut(piece, into_.subspan(begin, size));
    done += size;
  }
}

store::Receipt JudgedCopy::Finish() {
  std::vector<double> norms;
  norms.reserve(norms_.size());
  for (uint64_t block = 0; block < norms_.size(); ++block) {
    const uint64_t begin = block * kBlockBytes;
    const uint64_t end = std::min(begin + kBlockBytes, parts_.parameters_end);
    norms.push_back(norms_[block] ? *norms_[block]
                                  : store::SquaredNorm(View<float>(into_, begin, end)));
  }
  return store::ReceiptOf(std::move(norms), into_, parts_);
}

std::optional<uint64_t> JudgedCopy::FirstNonFinite() const {
  const auto floats = View<float>(into_, 0, parts_.floats_end);
  const auto found = std::ranges::find_if(floats, [](float x) { return !std::isfinite(x); });
  if (found == floats.end()) return std::nullopt;
  return static_cast<uint64_t>(found - floats.begin()) * sizeof(float);
}

}  // namespace paceline::rpc
