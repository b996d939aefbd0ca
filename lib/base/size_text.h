// Defines SizeText: how many bytes, for people.
#pragma once

#include <cstdint>
#include <string>

namespace paceline {

// "1 byte", "999 bytes", "12.3 kB", "4.0 MB", "1.5 GB": of the largest unit of which there is one
// at least, powers of 1000. Not for what is compared to the byte.
std::string SizeText(uint64_t bytes);

}  // namespace paceline
