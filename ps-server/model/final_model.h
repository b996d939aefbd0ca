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

// `bytes` are arranged as `layout`; the file holds each tensor by name, and those of `frozen` that
// the file `handed` (protocol/frozen_file.h; empty: there is none) has with the same type and
// digest. The others belong to the model and are not in it: their names are what is returned, and
// the metadata "left_out" is a JSON object of these, each with type and digest.
//
// Written beside `path` first, synced and renamed: on an error (ResourceExhausted for a full disk)
// nothing of the name `path` has changed and no other file is left.
StatusOr<std::vector<std::string>> WriteFinalModel(
    const std::string& path, const store::Layout& layout, std::span<const std::byte> bytes,
    const std::vector<protocol::FrozenTensor>& frozen = {}, const std::string& handed = {});

}  // namespace paceline::ps
