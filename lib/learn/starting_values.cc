#include "lib/learn/starting_values.h"

#include <cstring>
#include <optional>

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include "lib/learn/catch_torch.h"
#include "lib/learn/data/columns.h"
#include "lib/store/safetensors.h"

namespace paceline::learn {
namespace {

using store::SafetensorsFile;
using store::SafetensorsTensor;
using store::SafetensorsType;

// What becomes a float32 without being one.
std::optional<at::ScalarType> OtherFloat(SafetensorsType type) {
  if (type == SafetensorsType::kF16) return at::kHalf;
  if (type == SafetensorsType::kBF16) return at::kBFloat16;
  if (type == SafetensorsType::kF64) return at::kDouble;
  return std::nullopt;
}

Status CopyTensor(const SafetensorsTensor& from, const store::TensorPlace& place,
                  std::span<std::byte> to) {
  if (from.shape != place.spec.shape) {
    return InvalidArgument("tensor {} has shape {}, the model's has {}", from.name,
                           ShapeText(from.shape), ShapeText(place.spec.shape));
  }
  const bool is_float = place.spec.type == store::DataType::kFloat32;
  if (from.type == (is_float ? SafetensorsType::kF32 : SafetensorsType::kI64)) {
    if (!to.empty()) std::memcpy(to.data(), from.bytes.data(), to.size());
    return OkStatus();
  }
  const std::optional<at::ScalarType> other = is_float ? OtherFloat(from.type) : std::nullopt;
  if (!other) {
    return InvalidArgument("tensor {} is of type {}, the model's is {}", from.name,
                           store::NameOf(from.type),
                           is_float ? "F32 (F16, BF16 and F64 are taken too)" : "I64");
  }
  return CatchTorch([&]() -> Status {
    // Only read.
    void* const bytes = const_cast<std::byte*>(from.bytes.data());
    const at::Tensor floats = at::from_blob(bytes, from.shape, *other).to(at::kFloat).contiguous();
    if (!to.empty()) std::memcpy(to.data(), floats.const_data_ptr(), to.size());
    return OkStatus();
  });
}

}  // namespace

Status ReadStartingValues(const std::string& path, const store::Layout& layout,
                          std::span<std::byte> values) {
  const StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  if (!file.ok()) return Annotate(file.status(), "starting values");
  for (const store::TensorPlace& place : layout.tensors()) {
    const SafetensorsTensor* const tensor = file->Find(place.spec.name);
    if (tensor == nullptr) {
      return InvalidArgument(
          "starting values {} have no tensor {}, which the model has: their tensors are {}", path,
          place.spec.name, NamesIn(*file));
    }
    const Status copied =
        CopyTensor(*tensor, place, values.subspan(place.offset_bytes, place.size_bytes));
    if (!copied.ok()) return Annotate(copied, "starting values " + path);
  }
  return OkStatus();
}

}  // namespace paceline::learn
