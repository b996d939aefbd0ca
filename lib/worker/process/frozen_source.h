// Defines FrozenSource and HandOver: how a worker hands its frozen tensors to the coordinator, for
// the model file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/protocol/frozen_file.h"

namespace paceline::worker {

// A safetensors file (protocol/frozen_file.h) that is made as it is read. Empty: there is none.
struct FrozenSource {
  std::string of, frozen;  // Its metadata of these names.
  uint64_t bytes = 0;
  // Puts what lies there from `begin` on into `into`. False: it cannot be read. HandOver calls it
  // on its caller's thread.
  std::function<bool(uint64_t begin, std::span<std::byte> into)> read = nullptr;
};

inline constexpr uint64_t kFrozenPieceBytes = 4 << 20;  // That travel at once.

struct HandOverOptions {
  std::string sender;  // protocol/frozen_file.h
  std::function<StatusOr<protocol::FrozenAnswer>(const protocol::FrozenPart&)> call;
  std::function<void(Duration)> sleep;
  std::function<bool()> is_cancelled;  // Asked before each piece.
};

// Blocks until the coordinator has all of `source`, from this process or another one, or does not
// get it, which is said in the log: then the model file lacks them. Errors: those of `call` that
// may pass, and the next HandOver goes on from there; Cancelled.
Status HandOver(const FrozenSource& source, const HandOverOptions& options);

}  // namespace paceline::worker
