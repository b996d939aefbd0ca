#include "lib/learn/data/columns.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace paceline::learn {
namespace {

template <class From>
void Widen(const std::byte* from, uint64_t count, std::byte* to) {
  auto* wide = reinterpret_cast<int64_t*>(to);
  for (uint64_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from + i * sizeof(From), sizeof(From));
    wide[i] = value;
  }
}

void ToUnit(const std::byte* from, uint64_t count, std::byte* to) {
  auto* unit = reinterpret_cast<float*>(to);
  for (uint64_t i = 0; i < count; ++i) {
    unit[i] = static_cast<float>(std::to_integer<int>(from[i])) / 255.0f;
  }
}

void CopyRow(StoredType stored, const std::byte* from, uint64_t count, std::byte* to) {
  switch (stored) {
    case StoredType::kFloat32:
      std::memcpy(to, from, count * sizeof(float));
      return;
    case StoredType::kInt64:
      std::memcpy(to, from, count * sizeof(int64_t));
      return;
    case StoredType::kInt32:
      return Widen<int32_t>(from, count, to);
    case StoredType::kUint16:
      return Widen<uint16_t>(from, count, to);
    case StoredType::kUint8:
      return Widen<uint8_t>(from, count, to);
    case StoredType::kUnitUint8:
      return ToUnit(from, count, to);
  }
}

Status FileError(const std::string& path) {
  const int error = errno;
  const std::string reason = std::generic_category().message(error);
  if (error == ENOENT) return NotFound("cannot read {}: {}", path, reason);
  if (error == EACCES) return PermissionDenied("cannot read {}: {}", path, reason);
  return Internal("cannot read {}: {}", path, reason);
}

}  // namespace

std::string_view Name(ElementType type) {
  return type == ElementType::kFloat32 ? "float32" : "int64";
}

uint64_t SizeBytes(ElementType type) { return type == ElementType::kFloat32 ? 4 : 8; }

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
  const uint64_t elements = row_elements();
  const uint64_t bytes = row_bytes();
  for (size_t i = 0; i < samples.size(); ++i) {
    CopyRow(stored, first + samples[i] * stride_bytes, elements, to + i * bytes);
  }
}

Column::Extent Column::IntegerExtent() const {
  Extent extent;
  if (type() != ElementType::kInt64 || rows == 0 || row_elements() == 0) return extent;
  std::vector<int64_t> row(row_elements());
  extent = {INT64_MAX, INT64_MIN};
  for (uint64_t i = 0; i < rows; ++i) {
    CopyRow(stored, first + i * stride_bytes, row.size(), reinterpret_cast<std::byte*>(row.data()));
    const auto [smallest, largest] = std::minmax_element(row.begin(), row.end());
    extent.smallest = std::min(extent.smallest, *smallest);
    extent.largest = std::max(extent.largest, *largest);
  }
  return extent;
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

StatusOr<std::shared_ptr<const std::vector<std::byte>>> ReadWholeFile(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                       &std::fclose);
  if (file == nullptr) return FileError(path);
  auto bytes = std::make_shared<std::vector<std::byte>>();
  constexpr size_t kPiece = size_t{4} << 20;
  for (;;) {
    const size_t size = bytes->size();
    bytes->resize(size + kPiece);
    const size_t got = std::fread(bytes->data() + size, 1, kPiece, file.get());
    bytes->resize(size + got);
    if (got < kPiece) break;
  }
  if (std::ferror(file.get()) != 0) return FileError(path);
  return std::shared_ptr<const std::vector<std::byte>>(std::move(bytes));
}

}  // namespace paceline::learn
