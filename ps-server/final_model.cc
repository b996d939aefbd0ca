#include "ps-server/final_model.h"

#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/store/safetensors.h"

namespace paceline::ps {

Status WriteFinalModel(const std::string& path, const store::Layout& layout,
                       std::span<const std::byte> bytes,
                       const std::vector<protocol::FrozenTensor>& left_out) {
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
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  nlohmann::json by_name = nlohmann::json::object();
  for (const protocol::FrozenTensor& tensor : left_out)
    by_name[tensor.name] = {tensor.type, tensor.digest};
  if (!left_out.empty()) metadata["left_out"] = JsonText(by_name);
  return Annotate(store::WriteSafetensors(path, std::move(tensors), metadata), "final model");
}

}  // namespace paceline::ps
