// Defines Layout, the one flat arrangement of a model's tensors in bytes, and its slices over
// shards.
//
// Workers, shards, evaluator and the final model agree on it: float32 parameters first, then
// float32 buffers, then int64 buffers (at a multiple of 8), each group in the order given, without
// gaps inside a group. A push has the same arrangement: gradients (or deltas) in the place of the
// parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/status.h"

namespace paceline::store {

enum class DataType { kFloat32, kInt64 };
enum class TensorKind {
  kParameter,
  kBuffer
};  // Parameters are trained and float32; buffers are averaged.

struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;  // Empty for a scalar.
  DataType type = DataType::kFloat32;
  TensorKind kind = TensorKind::kParameter;
  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

struct TensorPlace {
  TensorSpec spec;
  uint64_t offset_bytes = 0;
  uint64_t size_bytes = 0;
};

// Half-open range of bytes of a layout.
struct Slice {
  uint64_t begin_bytes = 0;
  uint64_t end_bytes = 0;
  uint64_t size_bytes() const { return end_bytes - begin_bytes; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// Slices are cut, and norms are summed, at multiples of this many bytes of the layout.
inline constexpr uint64_t kBlockBytes = 64 * 1024;

// An immutable value; copies share nothing.
class Layout {
 public:
  Layout() = default;  // No tensors, no bytes.

  // InvalidArgument, naming the tensor: a doubled or empty name, a negative dimension, a parameter
  // that is not float32, more than 2^40 bytes in all, no parameter at all.
  static StatusOr<Layout> Create(const std::vector<TensorSpec>& tensors);

  const std::vector<TensorPlace>& tensors() const { return tensors_; }  // In order of offset.
  uint64_t parameter_bytes() const { return parameter_bytes_; }  // The trained part: [0, this).
  uint64_t float_bytes() const {
    return float_bytes_;
  }  // Parameters and float32 buffers: [0, this).
  uint64_t integer_begin_bytes() const {
    return integer_begin_bytes_;
  }  // int64 buffers: [this, total).
  uint64_t total_bytes() const { return total_bytes_; }

  // Equal when names, shapes, types, kinds and the order of offsets are, and else different (64-bit
  // FNV-1a over all of them).
  uint64_t hash() const { return hash_; }

  // One sentence about the first difference, by tensor name; empty if there is none:
  // "tensor conv1.weight has shape [8, 1, 3, 3], want [16, 1, 3, 3]".
  std::string Difference(const Layout& want) const;

 private:
  Status Arrange();  // Gives the tensors their places.

  std::vector<TensorPlace> tensors_;
  uint64_t parameter_bytes_ = 0;
  uint64_t float_bytes_ = 0;
  uint64_t integer_begin_bytes_ = 0;
  uint64_t total_bytes_ = 0;
  uint64_t hash_ = 0;
};

// One contiguous slice a shard, in rank order, covering [0, total_bytes) and cut at multiples of
// kBlockBytes, so that no two differ by more than one block (the last that is not empty may be
// shorter). With fewer blocks than shards the last slices are empty. `shards` >= 1.
std::vector<Slice> SliceOverShards(const Layout& layout, uint32_t shards);

}  // namespace paceline::store
