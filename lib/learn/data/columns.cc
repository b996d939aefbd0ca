#include "lib/learn/data/columns.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "lib/learn/data/read_mapped.h"

namespace paceline::learn {
namespace {

// Calls `use` with a value of the type that integers are stored as.
template <class Use>
void AsInteger(StoredType stored, const Use& use) {
  switch (stored) {
    case StoredType::kInt64:
      return use(int64_t{});
    case StoredType::kInt32:
      return use(int32_t{});
    case StoredType::kUint16:
      return use(uint16_t{});
    case StoredType::kUint8:
      return use(uint8_t{});
    case StoredType::kFloat32:
    case StoredType::kUnitUint8:
      return;
  }
}

template <class From>
From ReadAt(const std::byte* from, uint64_t i) {
  From value;
  std::memcpy(&value, from + i * sizeof(From), sizeof(From));
  return value;
}

void ToUnit(const std::byte* from, uint64_t count, std::byte* to) {
  auto* unit = reinterpret_cast<float*>(to);
  for (uint64_t i = 0; i < count; ++i) {
    unit[i] = static_cast<float>(std::to_integer<int>(from[i])) / 255.0f;
  }
}

void CopyRow(StoredType stored, const std::byte* from, uint64_t count, std::byte* to) {
  if (stored == StoredType::kUnitUint8) return ToUnit(from, count, to);
  if (stored == StoredType::kFloat32 || stored == StoredType::kInt64) {
    std::memcpy(to, from, count * SizeBytes(stored));
    return;
  }
  AsInteger(stored, [&](auto type) {
    auto* wide = reinterpret_cast<int64_t*>(to);
    for (uint64_t i = 0; i < count; ++i) wide[i] = ReadAt<decltype(type)>(from, i);
  });
}

// Runs `read`, which says whose rows it is about to read.
template <class Read>
void ReadPieces(const Read& read) {
  const Piece* volatile reading = nullptr;
  if (ReadMapped([&] { read([&](const Piece& piece) { reading = &piece; }); })) return;
  throw LostRows(
      fmt::format("{} was shortened, or cannot be read, while it is in use", reading->name));
}

}  // namespace

std::string_view Name(ElementType type) {
  return type == ElementType::kFloat32 ? "float32" : "int64";
}

uint64_t SizeBytes(ElementType type) { return type == ElementType::kFloat32 ? 4 : 8; }

std::string_view Name(StoredType type) {
  switch (type) {
    case StoredType::kFloat32:
      return "float32";
    case StoredType::kInt64:
      return "int64";
    case StoredType::kInt32:
      return "int32";
    case StoredType::kUint16:
      return "uint16";
    case StoredType::kUint8:
      return "uint8";
    case StoredType::kUnitUint8:
      return "uint8 of images";
  }
  return "";
}

uint64_t SizeBytes(StoredType type) {
  switch (type) {
    case StoredType::kInt64:
      return 8;
    case StoredType::kFloat32:
    case StoredType::kInt32:
      return 4;
    case StoredType::kUint16:
      return 2;
    case StoredType::kUint8:
    case StoredType::kUnitUint8:
      return 1;
  }
  return 1;
}

ElementType Column::type() const {
  const bool is_float = stored == StoredType::kFloat32 || stored == StoredType::kUnitUint8;
  return is_float ? ElementType::kFloat32 : ElementType::kInt64;
}

uint64_t Column::row_elements() const {
  uint64_t count = 1;
  for (const int64_t size : shape) count *= static_cast<uint64_t>(size);
  return count;
}

void Column::Gather(std::span<const uint32_t> samples, std::byte* to) const {
  const uint64_t elements = row_elements(), bytes = row_bytes();
  const uint64_t stored_bytes = elements * SizeBytes(stored);
  const auto copy = [&](const Piece& piece, size_t i) {
    CopyRow(stored, piece.first + (samples[i] - piece.begin) * stored_bytes, elements,
            to + i * bytes);
  };
  ReadPieces([&](const auto& begin) {
    if (pieces.size() == 1) {
      begin(pieces.front());
      for (size_t i = 0; i < samples.size(); ++i) copy(pieces.front(), i);
      return;
    }
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto next = std::ranges::upper_bound(pieces, samples[i], {}, &Piece::begin);
      begin(*(next - 1));
      copy(*(next - 1), i);
    }
  });
}

Column::Extent Column::IntegerExtent(const Piece& piece) const {
  Extent extent;
  const uint64_t count = piece.rows * row_elements();
  if (count == 0) return extent;
  ReadPieces([&](const auto& begin) {
    begin(piece);
    AsInteger(stored, [&](auto type) {
      auto smallest = std::numeric_limits<decltype(type)>::max();
      auto largest = std::numeric_limits<decltype(type)>::min();
      for (uint64_t i = 0; i < count; ++i) {
        const auto value = ReadAt<decltype(type)>(piece.first, i);
        smallest = std::min(smallest, value);
        largest = std::max(largest, value);
      }
      extent = {static_cast<int64_t>(smallest), static_cast<int64_t>(largest)};
    });
  });
  return extent;
}

Column::Extent Column::IntegerExtent() const {
  Extent all;
  for (const Piece& piece : pieces) {
    const Extent one = IntegerExtent(piece);
    if (one.largest < one.smallest) continue;
    if (all.largest < all.smallest) all = one;
    all = {std::min(all.smallest, one.smallest), std::max(all.largest, one.largest)};
  }
  return all;
}

Column::Extent Column::TypeExtent() const {
  Extent extent;
  AsInteger(stored, [&](auto type) {
    extent = {static_cast<int64_t>(std::numeric_limits<decltype(type)>::min()),
              static_cast<int64_t>(std::numeric_limits<decltype(type)>::max())};
  });
  return extent;
}

Column ColumnOf(std::string name, StoredType stored, std::vector<int64_t> shape, uint64_t rows,
                const std::byte* first, std::shared_ptr<const void> owner) {
  Column column;
  column.name = name;
  column.stored = stored;
  column.shape = std::move(shape);
  column.rows = rows;
  column.pieces.push_back(
      {.name = std::move(name), .rows = rows, .first = first, .owner = std::move(owner)});
  return column;
}

StatusOr<Column> Join(std::string name, std::vector<Column> columns) {
  Column joined = std::move(columns.front());
  const std::string first = joined.name;
  joined.name = std::move(name);
  for (Column& column : std::span(columns).subspan(1)) {
    if (column.shape != joined.shape || column.stored != joined.stored) {
      return InvalidArgument("rows differ: {} has shape {} of {}, {} has shape {} of {}", first,
                             ShapeText(joined.shape), Name(joined.stored), column.name,
                             ShapeText(column.shape), Name(column.stored));
    }
    for (Piece& piece : column.pieces) {
      piece.begin += joined.rows;
      joined.pieces.push_back(std::move(piece));
    }
    joined.rows += column.rows;
  }
  return joined;
}

std::string ShapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", shape[i]);
  }
  return text + "]";
}

std::string ShapeText(uint64_t rows, std::span<const int64_t> row_shape) {
  std::vector<int64_t> shape(1, static_cast<int64_t>(rows));
  shape.insert(shape.end(), row_shape.begin(), row_shape.end());
  return ShapeText(shape);
}

StatusOr<uint64_t> ElementCount(std::span<const int64_t> shape) {
  constexpr uint64_t kMax = uint64_t{1} << 58;
  uint64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0) return OutOfRange("shape {} has a negative dimension", ShapeText(shape));
    if (size > 0 && count > kMax / static_cast<uint64_t>(size)) {
      return OutOfRange("shape {} is too large", ShapeText(shape));
    }
    count *= static_cast<uint64_t>(size);
  }
  return count;
}

}  // namespace paceline::learn
