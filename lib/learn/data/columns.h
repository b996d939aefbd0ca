// Defines Column: one side of a data set (inputs or targets) as rows in memory, whatever file they
// came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace paceline::learn {

// What a model is fed with.
enum class ElementType { kFloat32, kInt64 };
std::string_view Name(ElementType type);  // "float32", "int64"
uint64_t SizeBytes(ElementType type);

// How elements lie in a file. All but the first two are widened when rows are gathered.
enum class StoredType {
  kFloat32,
  kInt64,
  kInt32,
  kUint16,
  kUint8,
  kUnitUint8,  // 0..255 stands for 0..1, as in MNIST's images.
};

// Rows of equal shape. Copies share the memory.
struct Column {
  std::string name;  // For messages: "train.safetensors: tensor inputs".
  StoredType stored = StoredType::kFloat32;
  std::vector<int64_t> shape;  // Of one row; empty for a scalar.
  uint64_t rows = 0;
  uint64_t stride_bytes = 0;  // From row to row; rows may overlap (token windows).
  const std::byte* first = nullptr;
  std::shared_ptr<const void> owner;  // Keeps the memory alive.

  ElementType type() const;
  uint64_t row_elements() const;
  uint64_t row_bytes() const { return row_elements() * SizeBytes(type()); }  // As gathered.

  // Copies the rows `samples` names, in that order, to `to`, which holds samples.size() x
  // row_bytes().
  void Gather(std::span<const uint32_t> samples, std::byte* to) const;

  // Smallest and largest element of an int64 column; {0, -1} without rows.
  struct Extent {
    int64_t smallest = 0;
    int64_t largest = -1;
  };
  Extent IntegerExtent() const;
};

// "[1437, 1, 8, 8]"
std::string ShapeText(std::span<const int64_t> shape);
std::string ShapeText(uint64_t rows, std::span<const int64_t> row_shape);

// The product, or OutOfRange if it or the bytes it stands for pass 2^62.
StatusOr<uint64_t> ElementCount(std::span<const int64_t> shape);

// The whole file. NotFound, PermissionDenied or Internal, naming the path.
StatusOr<std::shared_ptr<const std::vector<std::byte>>> ReadWholeFile(const std::string& path);

}  // namespace paceline::learn
