// Defines FrozenTensor: one that a worker's script trains not and has by itself. No shard stores
// it, nothing of it travels; all that workers compare is that they have the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/optim/parameter_groups.h"
#include "lib/store/layout.h"

namespace paceline::protocol {

struct FrozenTensor {
  std::string name;
  std::string type;    // For people, type and shape: "bfloat16 [16, 8]".
  std::string digest;  // Of its values, by whatever means all workers take it; empty: not compared.
  friend bool operator==(const FrozenTensor&, const FrozenTensor&) = default;
};

// What a worker that has `got` is to be told where `whose` ("the other workers") are `want`: the
// first by name that differs. Empty if all are the same, in whatever order.
std::string FrozenDifference(std::vector<FrozenTensor> got, std::vector<FrozenTensor> want,
                             const std::string& whose);

// The names of `frozen` that `want` holds where nothing else keeps a worker with the layout `got`
// from it: with these it would have `want`. Empty if something does, or the layouts are one.
std::vector<std::string> Held(const store::Layout& want, const store::Layout& got,
                              const std::vector<FrozenTensor>& frozen);

// As Held, where all of these are buffers, or parameters that `groups` freeze: as versions before
// had them, and whose script says that they are averaged. Empty where one is not.
std::vector<std::string> HeldAsFrozen(const store::Layout& want, const store::Layout& got,
                                      const std::vector<FrozenTensor>& frozen,
                                      std::span<const optim::ParameterGroup> groups);

}  // namespace paceline::protocol
