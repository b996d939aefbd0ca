// Defines small models and pushes for the tests of shards.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "lib/store/layout.h"
#include "lib/store/shard.h"

namespace paceline::store::testing {

inline PushId Push(uint64_t worker, uint64_t sequence, uint64_t incarnation = 1) {
  return {WorkerId(worker), Incarnation(incarnation), Sequence(sequence)};
}

// `elements` parameters, two float32 buffers and one int64 buffer.
inline Layout SmallLayout(int64_t elements = 5) {
  return Layout::Create({{"w", {elements}},
                         {"mean", {2}, DataType::kFloat32, TensorKind::kBuffer},
                         {"count", {1}, DataType::kInt64, TensorKind::kBuffer}})
      .value();
}

// The bytes of a whole layout: all floats `value`, all integers `integer`.
inline std::vector<std::byte> Filled(const Layout& layout, float value, int64_t integer) {
  std::vector<std::byte> bytes(layout.total_bytes());
  for (uint64_t at = 0; at < layout.float_bytes(); at += 4) std::memcpy(&bytes[at], &value, 4);
  for (uint64_t at = layout.integer_begin_bytes(); at < layout.total_bytes(); at += 8) {
    std::memcpy(&bytes[at], &integer, 8);
  }
  return bytes;
}

inline float FloatAt(std::span<const std::byte> bytes, uint64_t offset) {
  float value;
  std::memcpy(&value, &bytes[offset], 4);
  return value;
}

inline int64_t IntegerAt(std::span<const std::byte> bytes, uint64_t offset) {
  int64_t value;
  std::memcpy(&value, &bytes[offset], 8);
  return value;
}

// A shard of the whole layout, or of `slice`, open, holding `values` of the whole layout.
inline std::unique_ptr<Shard> OpenShard(Shard::Options options,
                                        const std::vector<std::byte>& values) {
  const Slice slice = options.slice;
  auto shard = Shard::Create(std::move(options)).value();
  std::copy(values.begin() + slice.begin_bytes, values.begin() + slice.end_bytes,
            shard->initial_values().begin());
  if (!shard->Open().ok()) std::abort();
  return shard;
}

inline Shard::Options WholeOf(const Layout& layout, uint32_t slots_per_worker = 1) {
  return {.layout = layout,
          .slice = {0, layout.total_bytes()},
          .optimizer = {},
          .slots_per_worker = slots_per_worker};
}

// Stages and seals this shard's part of `values`.
inline StatusOr<std::shared_ptr<const Receipt>> Deliver(Shard& shard, const PushId& id,
                                                        const std::vector<std::byte>& values) {
  PACELINE_ASSIGN_OR_RETURN(const Staging staging, shard.Stage(id));
  if (staging.sealed != nullptr) return staging.sealed;
  std::copy(values.begin() + shard.slice().begin_bytes, values.begin() + shard.slice().end_bytes,
            staging.bytes.begin());
  return shard.Seal(id, staging.ticket);
}

}  // namespace paceline::store::testing
