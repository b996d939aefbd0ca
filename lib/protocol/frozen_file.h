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
  // Who asks takes what is there in the place of its own values, from `begin` on. With `size` 0 it
  // sends nothing.
  bool adopts = false;
};

enum class FrozenState {
  kWanted,     // From `begin` on.
  kHeld,       // All of it is there.
  kBusy,       // Somebody else sends it; ask again.
  kNotWanted,  // `why` says the reason.
  kOther,      // To who adopts: `bytes` of what is there, from `begin` on.
};

struct FrozenAnswer {
  FrozenState state = FrozenState::kNotWanted;
  uint64_t begin = 0;
  std::string why = {};
  std::string of = {};  // Which file, and its size; where `bytes` are of it.
  uint64_t size = 0;
  std::vector<std::byte> bytes = {};
};

}  // namespace paceline::protocol
