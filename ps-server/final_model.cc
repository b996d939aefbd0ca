#include "ps-server/final_model.h"

#include <vector>

#include "lib/store/safetensors.h"

namespace paceline::ps {

Status WriteFinalModel(const std::string& path, const store::Layout& layout,
                       std::span<const std::byte> bytes) {
  std::vector<store::SafetensorsTensor> tensors;
  tensors.reserve(layout.tensors().size());
  for (const store::TensorPlace& place : layout.tensors()) {
    tensors.push_back({.name = place.spec.name,
                       .type = place.spec.type == store::DataType::kInt64
                                   ? store::SafetensorsType::kI64
                                   : store::SafetensorsType::kF32,
                       .shape = place.spec.shape,
                       .bytes = bytes.subspan(place.offset_bytes, place.size_bytes)});
  }
  return Annotate(store::WriteSafetensors(path, std::move(tensors), {{"format", "pt"}}),
                  "final model");
}

}  // namespace paceline::ps
