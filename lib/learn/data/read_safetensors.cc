#include <memory>
#include <optional>
#include <utility>

#include "lib/learn/data/readers.h"
#include "lib/store/safetensors.h"

namespace paceline::learn {
namespace {

using store::SafetensorsFile;
using store::SafetensorsTensor;
using store::SafetensorsType;

std::optional<StoredType> StoredAs(SafetensorsType type, Side side) {
  switch (type) {
    case SafetensorsType::kF32:
      return StoredType::kFloat32;
    case SafetensorsType::kI64:
      return StoredType::kInt64;
    case SafetensorsType::kI32:
      return StoredType::kInt32;
    case SafetensorsType::kU8:
      // Inputs of bytes could mean 0..255 or 0..1: whoever writes the file knows.
      if (side == Side::kTargets) return StoredType::kUint8;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

StatusOr<Column> ColumnOf(const std::string& path, const std::shared_ptr<SafetensorsFile>& file,
                          Side side) {
  const char* name = side == Side::kInputs ? "inputs" : "targets";
  const SafetensorsTensor* tensor = file->Find(name);
  if (tensor == nullptr) {
    return InvalidArgument("{} has no tensor {}: its tensors are {}", path, name, NamesIn(*file));
  }
  Column column;
  column.name = path + ": tensor " + name;
  const std::optional<StoredType> stored = StoredAs(tensor->type, side);
  if (!stored) {
    return InvalidArgument("{} is of type {} and shape {}, want {}", column.name,
                           store::NameOf(tensor->type), ShapeText(tensor->shape),
                           side == Side::kInputs ? "F32, I64 or I32" : "I64, I32, U8 or F32");
  }
  if (tensor->shape.empty()) {
    return InvalidArgument("{} has shape [], want one row a sample", column.name);
  }
  column.stored = *stored;
  column.rows = static_cast<uint64_t>(tensor->shape[0]);
  column.shape.assign(tensor->shape.begin() + 1, tensor->shape.end());
  column.stride_bytes = column.row_elements() * store::ElementBytes(tensor->type);
  column.first = tensor->bytes.data();
  column.owner = file;
  return column;
}

}  // namespace

StatusOr<Columns> ReadSafetensors(const std::string& path) {
  StatusOr<SafetensorsFile> opened = SafetensorsFile::Open(path);
  if (!opened.ok()) {
    // Names the file, whatever the message below says of its tensors.
    if (Message(opened.status()).find(path) != std::string::npos) return opened.status();
    return Annotate(opened.status(), path);
  }
  const auto file = std::make_shared<SafetensorsFile>(*std::move(opened));
  PACELINE_ASSIGN_OR_RETURN(Column inputs, ColumnOf(path, file, Side::kInputs));
  PACELINE_ASSIGN_OR_RETURN(Column targets, ColumnOf(path, file, Side::kTargets));
  return Columns{std::move(inputs), std::move(targets)};
}

}  // namespace paceline::learn
