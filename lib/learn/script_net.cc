#include <unordered_set>
#include <utility>

#include <ATen/core/ivalue.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include "lib/learn/catch_torch.h"
#include "lib/learn/net.h"

namespace paceline::learn {
namespace {

constexpr size_t kMetricsMax = 64;

// metrics(inputs..., targets) -> Dict[str, Tensor]; a method of that name that is another is the
// model's own affair.
bool GivesMetrics(const c10::FunctionSchema& schema) {
  if (schema.returns().size() != 1) return false;
  const auto dict = schema.returns()[0].type()->cast<c10::DictType>();
  return dict != nullptr && dict->getKeyType()->kind() == c10::TypeKind::StringType &&
         dict->getValueType()->kind() == c10::TypeKind::TensorType;
}

Outputs OutputsOfSequence(c10::ArrayRef<c10::IValue> elements, const char* kind) {
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].isTensor() && elements[i].toTensor().defined())
      return {elements[i].toTensor(),
              fmt::format("element {} of the {} that forward returns", i, kind)};
  }
  return {{}, fmt::format("a {} without a tensor, which forward returns", kind)};
}

Outputs OutputsOfDict(const c10::Dict<c10::IValue, c10::IValue>& dict) {
  constexpr const char* kPreferred = "logits";
  std::optional<std::string> chosen;
  Outputs outputs{{}, "a dict without a tensor under a string, which forward returns"};
  for (const auto& entry : dict) {
    if (!entry.key().isString() || !entry.value().isTensor()) continue;
    const std::string& name = entry.key().toStringRef();
    if (chosen && name != kPreferred) continue;
    chosen = name;
    outputs = {entry.value().toTensor(),
               fmt::format("\"{}\" of the dict that forward returns", name)};
  }
  return outputs;
}

Outputs OutputsOf(const c10::IValue& result) {
  if (result.isTensor()) return {result.toTensor(), "what forward returns"};
  if (result.isTuple()) return OutputsOfSequence(result.toTupleRef().elements(), "tuple");
  if (result.isList()) return OutputsOfSequence(result.toListRef(), "list");
  if (result.isGenericDict()) return OutputsOfDict(result.toGenericDict());
  return {{}, fmt::format("{}, which forward returns", result.tagKind())};
}

std::vector<c10::IValue> Arguments(std::span<const at::Tensor> inputs) {
  return {inputs.begin(), inputs.end()};
}

std::vector<c10::IValue> Arguments(std::span<const at::Tensor> inputs, const at::Tensor& targets) {
  std::vector<c10::IValue> arguments = Arguments(inputs);
  arguments.emplace_back(targets);
  return arguments;
}

class ScriptNet : public Net {
 public:
  explicit ScriptNet(torch::jit::Module module) : module_(std::move(module)) {
    loss_ = module_.find_method("loss");
    metrics_ = module_.find_method("metrics");
    if (metrics_ && !GivesMetrics(metrics_->function().getSchema())) metrics_.reset();
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

  bool TakeLearntStatistics() override {
    bool has_any = false;
    for (torch::jit::Module module : module_.modules()) {
      if (!module.hasattr("num_batches_tracked") || !module.hasattr("training")) continue;
      const c10::IValue batches = module.attr("num_batches_tracked");
      if (!batches.isTensor() || batches.toTensor().item<int64_t>() == 0) continue;
      module.setattr("training", false);
      has_any = true;
    }
    return has_any;
  }

  Outputs Forward(std::span<const at::Tensor> inputs) override {
    return OutputsOf(module_.forward(Arguments(inputs)));
  }

  bool HasLoss() const override { return loss_.has_value(); }
  at::Tensor Loss(std::span<const at::Tensor> inputs, const at::Tensor& targets) override {
    const c10::IValue loss = (*loss_)(Arguments(inputs, targets));
    TORCH_CHECK_VALUE(loss.isTensor(), "the model's loss returns ", loss.tagKind(),
                      ", want one Tensor");
    return loss.toTensor();
  }

  bool HasMetrics(size_t inputs) const override {
    constexpr size_t kSelfAndTargets = 2;
    return metrics_ &&
           metrics_->function().getSchema().arguments().size() == inputs + kSelfAndTargets;
  }
  std::map<std::string, double> Metrics(std::span<const at::Tensor> inputs,
                                        const at::Tensor& targets) override {
    std::map<std::string, double> values;
    const auto given = (*metrics_)(Arguments(inputs, targets)).toGenericDict();
    TORCH_CHECK_VALUE(given.size() <= kMetricsMax, "the model's metrics gives ", given.size(),
                      " numbers, want at most ", kMetricsMax);
    for (const auto& entry : given) {
      const std::string& name = entry.key().toStringRef();
      const at::Tensor value = entry.value().toTensor();
      TORCH_CHECK_VALUE(value.numel() == 1, "the model's metrics gives ", name, " of shape ",
                        value.sizes(), ", want a scalar");
      values[name] = value.item<double>();
    }
    return values;
  }

 private:
  struct OwnedBuffer {
    NamedTensor named;
    c10::intrusive_ptr<c10::ivalue::Object> owner;
    size_t slot;
  };

  torch::jit::Module module_;
  std::optional<torch::jit::Method> loss_;
  std::optional<torch::jit::Method> metrics_;
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
