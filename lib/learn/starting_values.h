// Defines ReadStartingValues: a model's parameters and buffers out of a .safetensors file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lib/base/status.h"
#include "lib/store/layout.h"

namespace paceline::learn {

// Writes each tensor of the layout from the file's tensor of that name to `values`, arranged as the
// layout. What the file has beside them is left alone. Floats of 16 and 64 bits become float32.
//
// NotFound: no such file. InvalidArgument, naming file and tensor: no safetensors; a tensor of the
// model that is not there, or of another shape or type. `values` hold anything then.
Status ReadStartingValues(const std::string& path, const store::Layout& layout,
                          std::span<std::byte> values);

}  // namespace paceline::learn
