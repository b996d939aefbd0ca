// IDX, the format of MNIST: two zero bytes, a type byte (8: unsigned byte), the number of
// dimensions, each dimension as a big-endian uint32, then the elements.
#include <utility>

#include "lib/files/mapped_file.h"
#include "lib/learn/data/readers.h"

namespace paceline::learn {
namespace {

uint32_t BigEndian(const std::byte* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<uint32_t>(at[i]);
  return value;
}

StatusOr<Column> ReadFile(const std::string& path, size_t dimensions_wanted, StoredType stored) {
  PACELINE_ASSIGN_OR_RETURN(const auto file, files::MappedFile::Open(path));
  const std::span<const std::byte> bytes = file->bytes();
  const auto byte = [&](size_t i) { return std::to_integer<int>(bytes[i]); };
  if (bytes.size() >= 2 && byte(0) == 0x1f && byte(1) == 0x8b) {
    return InvalidArgument("{} is compressed: run gunzip first", path);
  }
  if (bytes.size() < 4 || byte(0) != 0 || byte(1) != 0) {
    return InvalidArgument("{} is not an IDX file: it does not begin with two zero bytes", path);
  }
  if (byte(2) != 8) {
    return InvalidArgument("{} has IDX elements of type {:#04x}, want 0x08 (unsigned byte)", path,
                           byte(2));
  }
  const size_t dimensions = static_cast<size_t>(byte(3));
  if (dimensions != dimensions_wanted) {
    return InvalidArgument("{} has {} dimensions, want {}", path, dimensions, dimensions_wanted);
  }
  const size_t header_bytes = 4 + 4 * dimensions;
  if (bytes.size() < header_bytes) return InvalidArgument("{} is cut off in its header", path);
  std::vector<int64_t> shape;
  for (size_t i = 0; i < dimensions; ++i) shape.push_back(BigEndian(bytes.data() + 4 + 4 * i));
  const StatusOr<uint64_t> elements = ElementCount(shape);
  if (!elements.ok()) return InvalidArgument("{}: {}", path, Message(elements.status()));
  if (bytes.size() - header_bytes != *elements) {
    return InvalidArgument("{} has {} bytes of elements, want {} for shape {}", path,
                           bytes.size() - header_bytes, *elements, ShapeText(shape));
  }

  return ColumnOf(path, stored, {shape.begin() + 1, shape.end()}, static_cast<uint64_t>(shape[0]),
                  bytes.data() + header_bytes, file);
}

}  // namespace

StatusOr<Columns> ReadIdx(const std::string& inputs_path, const std::string& targets_path) {
  PACELINE_ASSIGN_OR_RETURN(Column inputs, ReadFile(inputs_path, 3, StoredType::kUnitUint8));
  PACELINE_ASSIGN_OR_RETURN(Column targets, ReadFile(targets_path, 1, StoredType::kUint8));
  inputs.shape.insert(inputs.shape.begin(), 1);
  return Columns{{std::move(inputs)}, std::move(targets)};
}

}  // namespace paceline::learn
