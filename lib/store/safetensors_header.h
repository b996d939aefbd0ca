// Declares the JSON header of a safetensors file, as values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/store/safetensors.h"

namespace paceline::store {

struct SafetensorsEntry {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // Offsets from the header's end.
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // In order of offset.
  std::map<std::string, std::string> metadata;
};

// Of `data_bytes` bytes that follow the header. InvalidArgument, naming the tensor.
StatusOr<SafetensorsHeader> ParseHeader(std::string_view json, uint64_t data_bytes);
// With spaces behind it, so that its length is a multiple of 8.
std::string FormatHeader(const SafetensorsHeader& header);

std::optional<SafetensorsType> TypeOf(std::string_view name);
// Nothing if a dimension is negative or the size overflows.
std::optional<uint64_t> SizeBytes(const std::vector<int64_t>& shape, SafetensorsType type);

}  // namespace paceline::store
