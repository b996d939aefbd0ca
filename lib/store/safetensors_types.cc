#include <array>

#include "lib/store/safetensors.h"
#include "lib/store/safetensors_header.h"

namespace paceline::store {
namespace {

struct TypeRow {
  std::string_view name;
  uint64_t element_bytes;
};

// In order of SafetensorsType.
constexpr std::array<TypeRow, 15> kTypes = {{{"BOOL", 1},
                                             {"U8", 1},
                                             {"I8", 1},
                                             {"I16", 2},
                                             {"U16", 2},
                                             {"F16", 2},
                                             {"BF16", 2},
                                             {"I32", 4},
                                             {"U32", 4},
                                             {"F32", 4},
                                             {"F64", 8},
                                             {"I64", 8},
                                             {"U64", 8},
                                             {"F8_E4M3", 1},
                                             {"F8_E5M2", 1}}};

}  // namespace

std::string_view NameOf(SafetensorsType type) { return kTypes[static_cast<size_t>(type)].name; }
uint64_t ElementBytes(SafetensorsType type) {
  return kTypes[static_cast<size_t>(type)].element_bytes;
}

std::optional<SafetensorsType> TypeOf(std::string_view name) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return static_cast<SafetensorsType>(i);
  }
  return std::nullopt;
}

std::optional<uint64_t> SizeBytes(const std::vector<int64_t>& shape, SafetensorsType type) {
  uint64_t bytes = ElementBytes(type);
  for (const int64_t dimension : shape) {
    if (dimension < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(dimension), &bytes))
      return std::nullopt;
  }
  return bytes;
}

}  // namespace paceline::store
