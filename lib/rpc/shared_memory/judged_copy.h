// Defines JudgedCopy: one shard's part of a push on its way into shared memory, judged as it
// passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lib/store/slice_parts.h"

namespace paceline::rpc {

// What a shard would compute of a push once it is there (store::Judge), bit by bit, without reading
// it from memory once more. One owner at a time, who may Put parts that share no block of
// store::kBlockBytes by several threads.
class JudgedCopy {
 public:
  // `into`: the slice's memory, which outlives this.
  JudgedCopy(const store::SliceParts& parts, std::span<std::byte> into);

  // The part of the slice from `offset_bytes` on; each byte once.
  void Put(uint64_t offset_bytes, std::span<const std::byte> part);
  // All of it is there.
  store::Receipt Finish();
  // Within the slice, in bytes; of the parameters and float buffers. Reads all of it in the worst
  // case.
  std::optional<uint64_t> FirstNonFinite() const;

 private:
  const store::SliceParts parts_;
  const std::span<std::byte> into_;
  std::vector<std::optional<double>> norms_;  // By block; of those that came as a whole.
};

}  // namespace paceline::rpc
