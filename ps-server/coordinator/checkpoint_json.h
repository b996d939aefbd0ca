// Writes the coordinator's part of a checkpoint as JSON, the file state.json, and reads it back.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/coordination/checkpoint.h"

namespace paceline::ps {

// One object, ending in a line end. Every double is given back to the last bit.
std::string CheckpointStateJson(const coordination::CheckpointState& state);

// DataLoss, naming the field, its value and what would be right, if it is not such an object or
// could not have been saved so; Unimplemented if a later version of this program has saved it.
StatusOr<coordination::CheckpointState> ParseCheckpointState(std::string_view text);

}  // namespace paceline::ps
