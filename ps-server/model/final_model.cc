#include "ps-server/model/final_model.h"

#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "lib/base/json_text.h"
#include "lib/store/safetensors.h"
#include "lib/telemetry/log.h"

namespace paceline::ps {
namespace {

using nlohmann::json;

json InWords(const protocol::FrozenTensor& tensor) { return {tensor.type, tensor.digest}; }

// What a worker has handed over, as long as it can be read.
class Handed {
 public:
  explicit Handed(const std::string& path) {
    if (path.empty()) return;
    auto file = store::SafetensorsFile::Open(path);
    if (!file.ok()) {
      telemetry::Log(telemetry::LogLevel::kWarning, "frozen parameters cannot be read any more",
                     {{"why", Message(file.status())}});
      return;
    }
    const auto said = file->metadata().find("frozen");
    if (said != file->metadata().end()) said_ = json::parse(said->second, nullptr, false);
    file_ = *std::move(file);
  }

  // Null if it is not there, or is another one.
  const store::SafetensorsTensor* Find(const protocol::FrozenTensor& tensor) const {
    if (!file_ || !said_.is_object()) return nullptr;
    const auto said = said_.find(tensor.name);
    return said != said_.end() && *said == InWords(tensor) ? file_->Find(tensor.name) : nullptr;
  }

 private:
  std::optional<store::SafetensorsFile> file_;
  json said_;
};

}  // namespace

StatusOr<std::vector<std::string>> WriteFinalModel(
    const std::string& path, const store::Layout& layout, std::span<const std::byte> bytes,
    const std::vector<protocol::FrozenTensor>& frozen, const std::string& handed) {
  std::vector<store::SafetensorsTensor> tensors;
  tensors.reserve(layout.tensors().size() + frozen.size());
  for (const store::TensorPlace& place : layout.tensors()) {
    tensors.push_back({.name = place.spec.name,
                       .type = place.spec.type == store::DataType::kInt64
                                   ? store::SafetensorsType::kI64
                                   : store::SafetensorsType::kF32,
                       .shape = place.spec.shape,
                       .bytes = bytes.subspan(place.offset_bytes, place.size_bytes)});
  }
  const Handed file(handed);
  std::vector<std::string> left_out;
  json by_name = json::object();
  for (const protocol::FrozenTensor& tensor : frozen) {
    if (const store::SafetensorsTensor* const whole = file.Find(tensor)) {
      tensors.push_back(*whole);
      continue;
    }
    left_out.push_back(tensor.name);
    by_name[tensor.name] = InWords(tensor);
  }
  std::map<std::string, std::string> metadata = {{"format", "pt"}};
  if (!left_out.empty()) metadata["left_out"] = JsonText(by_name);
  PACELINE_RETURN_IF_ERROR(
      Annotate(store::WriteSafetensors(path, std::move(tensors), metadata), "final model"));
  return left_out;
}

}  // namespace paceline::ps
