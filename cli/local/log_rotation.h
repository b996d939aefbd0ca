// Defines RotateLog: what a process prints has a bound, while it goes on printing.
#pragma once

#include <cstdint>
#include <string>

namespace paceline::local {

// If the file has half of `bytes_max` or more: what is in it goes to `path`.1, in the place of what
// was there, and it begins anew with a line that says so. Whoever has it open for appending does
// not notice; what is printed at that very moment may be lost. Where there is no room for the copy,
// the older output is dropped. Whether it began anew.
bool RotateLog(const std::string& path, uint64_t bytes_max);

}  // namespace paceline::local
