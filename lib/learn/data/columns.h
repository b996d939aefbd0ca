// Defines Column: one tensor of a data set, an input or the targets, as rows in memory, whatever
// files they came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
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
std::string_view Name(StoredType type);  // "int32"; of kUnitUint8 "uint8 of images".
uint64_t SizeBytes(StoredType type);

// What reading rows throws of a file that was shortened while it is mapped, or that its disk does
// not give any more.
class LostRows : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Rows that lie one after the other, of one file.
struct Piece {
  std::string name;    // For messages: "train.safetensors: tensor inputs".
  uint64_t begin = 0;  // Rows of the column that come before.
  uint64_t rows = 0;
  const std::byte* first = nullptr;
  std::shared_ptr<const void> owner;  // Keeps the memory alive.
};

// Rows of equal shape and type, in pieces of memory. Copies share them.
struct Column {
  std::string name;  // As a piece's; of several files what they are called together.
  StoredType stored = StoredType::kFloat32;
  std::vector<int64_t> shape;  // Of one row; empty for a scalar.
  uint64_t rows = 0;
  std::vector<Piece> pieces;  // In the order of their rows, one at least.

  ElementType type() const;
  uint64_t row_elements() const;
  uint64_t row_bytes() const { return row_elements() * SizeBytes(type()); }  // As gathered.

  // Copies the rows `samples` names, in that order, to `to`, which holds samples.size() x
  // row_bytes(). Throws LostRows, which names the file.
  void Gather(std::span<const uint32_t> samples, std::byte* to) const;

  // Smallest and largest element of an int64 column; {0, -1} without rows. Reads all of them, and
  // throws as Gather does.
  struct Extent {
    int64_t smallest = 0;
    int64_t largest = -1;
  };
  Extent IntegerExtent() const;
  Extent IntegerExtent(const Piece& piece) const;  // Of one of `pieces`.
  Extent TypeExtent() const;                       // What its stored type can hold.
};

// A column of one piece, whose rows begin at `first`.
Column ColumnOf(std::string name, StoredType stored, std::vector<int64_t> shape, uint64_t rows,
                const std::byte* first, std::shared_ptr<const void> owner);

// The rows of all `columns`, one at least, as one column called `name`. InvalidArgument, naming two
// that differ, unless their rows have one shape and are stored as one type.
StatusOr<Column> Join(std::string name, std::vector<Column> columns);

// "[1437, 1, 8, 8]"
std::string ShapeText(std::span<const int64_t> shape);
std::string ShapeText(uint64_t rows, std::span<const int64_t> row_shape);

// The product, or OutOfRange if it or the bytes it stands for pass 2^62.
StatusOr<uint64_t> ElementCount(std::span<const int64_t> shape);

}  // namespace paceline::learn
