// Writes a model's tensors as one safetensors file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lib/base/status.h"
#include "lib/store/layout.h"

namespace paceline::ps {

// `bytes` are arranged as `layout`; the file holds each tensor by name. Written beside `path`
// first, synced and renamed: on an error (ResourceExhausted for a full disk) nothing of the name
// `path` has changed and no other file is left.
Status WriteFinalModel(const std::string& path, const store::Layout& layout,
                       std::span<const std::byte> bytes);

}  // namespace paceline::ps
