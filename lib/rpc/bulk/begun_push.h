// Defines BegunPush: a push whose payload is handed over in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "lib/base/status.h"

namespace paceline::rpc {

struct PushReport {
  double squared_norm =
      0;                  // Of the parameters' part: all blocks of all shards, added in rank order.
  bool is_finite = true;  // All shards say so.
  std::optional<uint64_t> wire_bytes;  // That have travelled, where they are not the payload's.
  // Where in the layout the first number is that is not finite, as it arrived, if who pushed knows.
  std::optional<uint64_t> non_finite_at;
};

// One owner at a time. Destroyed without Seal it is given up: its sequence is spent, and nothing of
// it counts.
class BegunPush {
 public:
  virtual ~BegunPush() = default;

  // Some part of the payload, from `offset_bytes` of the layout on: in any order, each byte once,
  // no number cut in two. Copied before it returns. Never blocks for long.
  virtual void Put(uint64_t offset_bytes, std::span<const std::byte> part) = 0;

  // The payload is whole. InvalidArgument unless each byte was put, once. Other errors are those of
  // ParameterClient::Push, but that nothing is tried again unless MaySealAgain.
  virtual StatusOr<PushReport> Seal() = 0;
  // What failed for a passing reason may be sealed once more: the payload is kept, and travels as a
  // whole then. Otherwise it is nowhere else.
  virtual bool MaySealAgain() const { return false; }
};

}  // namespace paceline::rpc
