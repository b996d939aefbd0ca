// Writes a model's tensors as one safetensors file.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/protocol/frozen_tensors.h"
#include "lib/store/layout.h"

namespace paceline::ps {

// `bytes` are arranged as `layout`; the file holds each tensor by name, and in its metadata the
// those that belong to the model and are not in it, as "left_out": a JSON object of their names,
// each with type and digest as workers say them. Written
// beside `path` first, synced and renamed: on an error (ResourceExhausted for a full disk) nothing
// of the name `path` has changed and no other file is left.
Status WriteFinalModel(const std::string& path, const store::Layout& layout,
                       std::span<const std::byte> bytes,
                       const std::vector<protocol::FrozenTensor>& left_out = {});

}  // namespace paceline::ps
