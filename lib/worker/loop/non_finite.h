// Finds where numbers stop being finite.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "lib/store/layout.h"

namespace paceline::worker {

// The first tensor, in the layout's order, of whose numbers in `values` (arranged as the layout)
// one is NaN or infinite; empty if all are finite. Reads all of it in the worst case.
std::string FirstNonFinite(const store::Layout& layout, std::span<const std::byte> values);

// The tensor that holds the byte at that place of the layout; empty if none does.
std::string TensorAt(const store::Layout& layout, uint64_t offset_bytes);

}  // namespace paceline::worker
