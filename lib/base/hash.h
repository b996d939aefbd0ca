// Defines HashText: the same number for the same text on every machine and in every version.
#pragma once

#include <cstdint>
#include <string_view>

namespace paceline {

// FNV-1a, 64 bits. Not for secrets.
constexpr uint64_t HashText(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace paceline
