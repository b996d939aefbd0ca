// NumPy's .npy, versions 1 to 3: "\x93NUMPY", two bytes of version, the header's length, a Python
// dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, then the elements.
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/files/mapped_file.h"
#include "lib/learn/data/readers.h"

namespace paceline::learn {
namespace {

struct Header {
  std::string descr;
  bool is_fortran = false;
  std::vector<int64_t> shape;
  size_t end = 0;  // Where the elements begin.
};

std::optional<std::string_view> ValueOf(std::string_view dictionary, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "':";
  const size_t at = dictionary.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view value = dictionary.substr(at + quoted.size());
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  return value;
}

std::optional<std::vector<int64_t>> ParseShape(std::string_view text) {
  if (!text.starts_with('(') || text.find(')') == std::string_view::npos) return std::nullopt;
  std::vector<int64_t> shape;
  int64_t number = -1;
  for (const char c : text.substr(1, text.find(')'))) {
    if (c >= '0' && c <= '9') {
      if (number > INT64_MAX / 16) return std::nullopt;
      number = (number < 0 ? 0 : number) * 10 + (c - '0');
    } else if (c == ',' || c == ')') {
      if (number >= 0) shape.push_back(number);
      number = -1;
    } else if (c != ' ') {
      return std::nullopt;
    }
  }
  return shape;
}

std::optional<Header> ParseHeader(std::string_view file) {
  if (!file.starts_with("\x93NUMPY") || file.size() < 10) return std::nullopt;
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(file[i])); };
  const bool is_long = byte(6) >= 2;
  if (is_long && file.size() < 12) return std::nullopt;
  const size_t begin = is_long ? 12 : 10;
  size_t length = byte(8) | byte(9) << 8;
  if (is_long) length |= byte(10) << 16 | byte(11) << 24;
  if (file.size() - begin < length) return std::nullopt;
  const std::string_view dictionary = file.substr(begin, length);

  const auto descr = ValueOf(dictionary, "descr");
  const auto order = ValueOf(dictionary, "fortran_order");
  const auto shape = ValueOf(dictionary, "shape");
  if (!descr || !order || !shape || !descr->starts_with('\'')) return std::nullopt;
  auto parsed_shape = ParseShape(*shape);
  if (!parsed_shape) return std::nullopt;
  Header header;
  header.descr = descr->substr(1, descr->find('\'', 1) - 1);
  header.is_fortran = order->starts_with("True");
  header.shape = std::move(*parsed_shape);
  header.end = begin + length;
  return header;
}

std::optional<StoredType> StoredAs(const std::string& descr, Side side) {
  if (descr == "<f4") return StoredType::kFloat32;
  if (descr == "<i8") return StoredType::kInt64;
  if (descr == "<i4") return StoredType::kInt32;
  if (descr == "|u1" && side == Side::kTargets) return StoredType::kUint8;
  return std::nullopt;
}

StatusOr<Column> ReadFile(const std::string& path, Side side) {
  PACELINE_ASSIGN_OR_RETURN(const auto file, files::MappedFile::Open(path));
  const std::span<const std::byte> bytes = file->bytes();
  const auto header = ParseHeader({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!header) return InvalidArgument("{} is not a .npy file, or its header is damaged", path);
  const std::optional<StoredType> stored = StoredAs(header->descr, side);
  if (!stored) {
    return InvalidArgument("{} has elements of type {}, want {}", path, header->descr,
                           side == Side::kInputs ? "<f4, <i8 or <i4" : "<i8, <i4, |u1 or <f4");
  }
  if (header->is_fortran) {
    return InvalidArgument("{} is in Fortran order: save numpy.ascontiguousarray(array)", path);
  }
  if (header->shape.empty())
    return InvalidArgument("{} holds a scalar, want one row a sample", path);
  const StatusOr<uint64_t> elements = ElementCount(header->shape);
  if (!elements.ok()) return InvalidArgument("{}: {}", path, Message(elements.status()));
  const uint64_t wanted = *elements * SizeBytes(*stored);
  if (bytes.size() - header->end != wanted) {
    return InvalidArgument("{} has {} bytes of elements, want {} for shape {} of {}", path,
                           bytes.size() - header->end, wanted, ShapeText(header->shape),
                           header->descr);
  }

  const std::vector<int64_t>& shape = header->shape;
  return ColumnOf(path, *stored, {shape.begin() + 1, shape.end()}, static_cast<uint64_t>(shape[0]),
                  bytes.data() + header->end, file);
}

}  // namespace

StatusOr<Columns> ReadNpy(const std::string& inputs_path, const std::string& targets_path) {
  PACELINE_ASSIGN_OR_RETURN(Column inputs, ReadFile(inputs_path, Side::kInputs));
  PACELINE_ASSIGN_OR_RETURN(Column targets, ReadFile(targets_path, Side::kTargets));
  return Columns{{std::move(inputs)}, std::move(targets)};
}

}  // namespace paceline::learn
