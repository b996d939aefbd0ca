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

StatusOr<Column> ColumnIn(const std::string& path, const std::shared_ptr<SafetensorsFile>& file,
                          const std::string& name, Side side) {
  const SafetensorsTensor* tensor = file->Find(name);
  if (tensor == nullptr) {
    return InvalidArgument("{} has no tensor {}: its tensors are {}", path, name, NamesIn(*file));
  }
  std::string full_name = path + ": tensor " + name;
  const std::optional<StoredType> stored = StoredAs(tensor->type, side);
  if (!stored) {
    return InvalidArgument("{} is of type {} and shape {}, want {}", full_name,
                           store::NameOf(tensor->type), ShapeText(tensor->shape),
                           side == Side::kInputs ? "F32, I64 or I32" : "I64, I32, U8 or F32");
  }
  if (tensor->shape.empty()) {
    return InvalidArgument("{} has shape [], want one row a sample", full_name);
  }
  return ColumnOf(std::move(full_name), *stored, {tensor->shape.begin() + 1, tensor->shape.end()},
                  static_cast<uint64_t>(tensor->shape[0]), tensor->bytes.data(), file);
}

}  // namespace

StatusOr<Columns> ReadSafetensors(const std::string& path, std::span<const std::string> inputs) {
  StatusOr<SafetensorsFile> opened = SafetensorsFile::Open(path);
  if (!opened.ok()) {
    // Names the file, whatever the message below says of its tensors.
    if (Message(opened.status()).find(path) != std::string::npos) return opened.status();
    return Annotate(opened.status(), path);
  }
  const auto file = std::make_shared<SafetensorsFile>(*std::move(opened));
  Columns columns;
  for (const std::string& name : inputs) {
    PACELINE_ASSIGN_OR_RETURN(columns.inputs.emplace_back(),
                              ColumnIn(path, file, name, Side::kInputs));
  }
  PACELINE_ASSIGN_OR_RETURN(columns.targets, ColumnIn(path, file, "targets", Side::kTargets));
  return columns;
}

}  // namespace paceline::learn
