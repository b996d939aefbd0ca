// Defines how a text that may grow for ever lies in files: the beginning and the newest segments.
//
//   policy.trace       the beginning, kept
//   policy.trace.3     later segments, by number; 1 and 2 were removed
//   policy.trace.4     the newest
//
// Each but the first begins with what stands in for all that came before it, its snapshot, one line
// behind each "#snapshot ". To whoever has read the segment before, these are comments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace paceline::files {

inline constexpr std::string_view kSnapshotLine = "#snapshot ";

// Its file; number 0 is `path` itself.
std::string SegmentPath(const std::string& path, uint64_t number);

// Numbers of the segments that are there, 0 left out, in order.
std::vector<uint64_t> SegmentNumbers(const std::string& path);

// The text as far as it is there. Where segments are missing it has a line "gap 1..2" and the lines
// of the next one's snapshot, as if they had been written. NotFound or PermissionDenied, naming the
// file, if `path` or a segment cannot be read.
StatusOr<std::string> ReadSegments(const std::string& path);

}  // namespace paceline::files
