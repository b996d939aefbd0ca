// Defines HashText and HashByte: the same number for the same text, on every machine, in every
// version.
#pragma once

#include <cstdint>
#include <string_view>

namespace paceline {

// FNV-1a, 64 bits, byte by byte from the seed on. Not for secrets.
inline constexpr uint64_t kHashSeed = 14695981039346656037u;
constexpr uint64_t HashByte(uint64_t hash, unsigned char byte) {
  return (hash ^ byte) * 1099511628211u;
}

constexpr uint64_t HashText(std::string_view text) {
  uint64_t hash = kHashSeed;
  for (const char c : text) hash = HashByte(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace paceline
