// Defines what a push is to a shard: its identity, the place it is copied to, and the answer to it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/store/region.h"

namespace paceline::store {

// Who pushed what: a retry carries the same identity and gets the first answer.
struct PushId {
  WorkerId worker;
  Incarnation incarnation;
  Sequence sequence;
  friend auto operator<=>(const PushId&, const PushId&) = default;
};

// "w1 i2 #3"
inline std::string ToString(const PushId& id) {
  return paceline::ToString(id.worker) + " " + paceline::ToString(id.incarnation) + " " +
         paceline::ToString(id.sequence);
}

// What a shard says of a staged push. One sum a block of kBlockBytes that holds parameters of this
// slice, in order of offset, each summed in float64 in a fixed order: whoever adds all blocks of
// all shards in rank order gets the same bits for any number of shards.
struct Receipt {
  std::vector<double> block_squared_norms;
  bool is_finite = true;  // Parameters and float32 buffers.
};

// Makes memory of a slice's size for the pushes of one sender, which can reach it from where it is.
// Called without a lock.
using PushMemory = std::function<StatusOr<std::shared_ptr<Region>>()>;

// A place to copy a push into. Write through `bytes` only while this (or a copy of its `lease`)
// lives, and not after Seal: a transfer that was taken over then writes where nobody reads.
struct Staging {
  std::span<std::byte> bytes;             // Empty if `sealed` is set.
  std::shared_ptr<const Receipt> sealed;  // The first answer, when this id was sealed before.
  uint64_t ticket = 0;
  std::shared_ptr<Region> lease = nullptr;  // `bytes` are its own.
};

}  // namespace paceline::store
