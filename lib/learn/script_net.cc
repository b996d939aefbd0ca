#include <unordered_set>
#include <utility>

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include "lib/learn/catch_torch.h"
#include "lib/learn/net.h"

namespace paceline::learn {
namespace {

class ScriptNet : public Net {
 public:
  explicit ScriptNet(torch::jit::Module module) : module_(std::move(module)) {
    loss_ = module_.find_method("loss");
    std::unordered_set<const void*> seen;
    for (const auto& owner : module_.named_modules()) {
      for (const auto& buffer : owner.value.named_buffers(/*recurse=*/false)) {
        if (!seen.insert(buffer.value.unsafeGetTensorImpl()).second) continue;
        const std::string prefix = owner.name.empty() ? "" : owner.name + ".";
        buffers_.push_back({{prefix + buffer.name, buffer.value},
                            owner.value._ivalue(),
                            owner.value.type()->getAttributeSlot(buffer.name)});
      }
    }
  }

  // A tied weight is listed under each of its names, with one tensor: the first name stands.
  std::vector<NamedTensor> Parameters() override {
    std::vector<NamedTensor> tensors;
    std::unordered_set<const void*> seen;
    for (const auto& parameter : module_.named_parameters(/*recurse=*/true)) {
      if (seen.insert(parameter.value.unsafeGetTensorImpl()).second) {
        tensors.push_back({parameter.name, parameter.value});
      }
    }
    return tensors;
  }

  std::vector<NamedTensor> Buffers() override {
    std::vector<NamedTensor> tensors;
    for (const OwnedBuffer& buffer : buffers_) tensors.push_back(buffer.named);
    return tensors;
  }

  void KeepBuffers(std::span<const at::Tensor> buffers) override {
    for (size_t i = 0; i < buffers_.size(); ++i) {
      if (!buffers[i].defined()) continue;
      const at::Tensor bound = buffers_[i].owner->getSlot(buffers_[i].slot).toTensor();
      if (bound.is_same(buffers[i])) continue;
      buffers[i].copy_(bound.detach());
      buffers_[i].owner->setSlot(buffers_[i].slot, buffers[i]);
    }
  }

  void SetMode(NetMode mode) override { module_.train(mode == NetMode::kTraining); }

  at::Tensor Forward(const at::Tensor& inputs) override {
    return TensorOf(module_.forward({inputs}), "forward");
  }

  bool HasLoss() const override { return loss_.has_value(); }
  at::Tensor Loss(const at::Tensor& inputs, const at::Tensor& targets) override {
    return TensorOf((*loss_)({inputs, targets}), "loss");
  }

 private:
  struct OwnedBuffer {
    NamedTensor named;
    c10::intrusive_ptr<c10::ivalue::Object> owner;
    size_t slot;
  };

  static at::Tensor TensorOf(const c10::IValue& result, const char* method) {
    TORCH_CHECK_VALUE(result.isTensor(), "the model's ", method, " returns ", result.tagKind(),
                      ", want one Tensor");
    return result.toTensor();
  }

  torch::jit::Module module_;
  std::optional<torch::jit::Method> loss_;
  std::vector<OwnedBuffer> buffers_;
};

}  // namespace

ScriptOptimizer SetScriptOptimizer(ScriptOptimizer optimizer) {
  const bool was_on = torch::jit::getGraphExecutorOptimize();
  torch::jit::setGraphExecutorOptimize(optimizer == ScriptOptimizer::kOn);
  return was_on ? ScriptOptimizer::kOn : ScriptOptimizer::kOff;
}

StatusOr<std::unique_ptr<Net>> LoadScriptNet(const std::string& path, const at::Device& device) {
  StatusOr<std::unique_ptr<Net>> net = CatchTorch([&]() -> StatusOr<std::unique_ptr<Net>> {
    return std::make_unique<ScriptNet>(torch::jit::load(path, device));
  });
  if (net.ok() || net.status().code() == StatusCode::kResourceExhausted) return net;
  return InvalidArgument("cannot load model {} (want a file of torch.jit.save): {}", path,
                         Message(net.status()));
}

}  // namespace paceline::learn
