// Defines SliceParts, where parameters and buffers lie within a slice, and what is computed block
// by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/store/layout.h"
#include "lib/store/push.h"

namespace paceline::store {

// Offsets in bytes from the slice's begin: parameters, float32 buffers, up to 4 bytes of padding,
// int64 buffers.
struct SliceParts {
  uint64_t parameters_end = 0;
  uint64_t floats_end = 0;
  uint64_t integers_begin = 0;
  uint64_t end = 0;
};

SliceParts PartsOf(const Layout& layout, const Slice& slice);
SliceParts PartsOf(const Layout& layout);  // Of all of it.

// Elements at [begin, end) of a slice's bytes.
template <class T>
std::span<const T> View(std::span<const std::byte> bytes, uint64_t begin, uint64_t end) {
  return {reinterpret_cast<const T*>(bytes.data() + begin), (end - begin) / sizeof(T)};
}
template <class T>
std::span<T> View(std::span<std::byte> bytes, uint64_t begin, uint64_t end) {
  return {reinterpret_cast<T*>(bytes.data() + begin), (end - begin) / sizeof(T)};
}

// Squared norms of the parameters' part, one a block.
std::vector<double> BlockSquaredNorms(std::span<const std::byte> bytes, const SliceParts& parts);
Receipt Judge(std::span<const std::byte> push, const SliceParts& parts);

// The receipt of a push whose blocks' squared norms are known.
Receipt ReceiptOf(std::vector<double> block_squared_norms, std::span<const std::byte> push,
                  const SliceParts& parts);

// Judge in pieces, while a push is coming in: its bytes are still in the cache then. One owner at a
// time; the same push in every call.
class PushJudge {
 public:
  explicit PushJudge(const SliceParts& parts);
  // Bytes [begin, end) of it are there from now on; in any order, each byte once.
  void See(std::span<const std::byte> push, uint64_t begin, uint64_t end);
  Receipt Finish(std::span<const std::byte> push);  // All are there.

 private:
  uint64_t BlockEnd(uint64_t block) const;

  const SliceParts parts_;
  std::vector<uint32_t> missing_bytes_;  // Of each block.
  std::vector<double> norms_;            // Of the blocks that are whole.
};

}  // namespace paceline::store
