// Defines FrozenPart and FrozenAnswer: how a worker's frozen tensors, which no shard has, come to
// the coordinator, so that the model file is whole. What travels is a safetensors file, in pieces,
// before the worker joins; its metadata "frozen" is a JSON object of names, each with type and
// digest as in Join::frozen, and "of" says which file it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace paceline::protocol {

struct FrozenPart {
  std::string of;           // Equal for equal names, types and values.
  std::string frozen = {};  // Of who asks: the file's metadata of that name.
  // "SEAT#PROCESS": who asks for a seat of a worker by another process has taken its place.
  std::string sender;
  uint64_t size = 0;  // Of the whole file.
  uint64_t begin = 0;
  std::vector<std::byte> bytes = {};  // None: it asks.
};

enum class FrozenState {
  kWanted,     // From `begin` on.
  kHeld,       // All of it is there.
  kBusy,       // Somebody else sends it; ask again.
  kNotWanted,  // `why` says the reason.
};

struct FrozenAnswer {
  FrozenState state = FrozenState::kNotWanted;
  uint64_t begin = 0;
  std::string why = {};
};

}  // namespace paceline::protocol
