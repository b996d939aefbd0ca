#include "lib/learn/testing/scripts.h"

#include <map>

#include <ATen/ops/full.h>
#include <torch/csrc/jit/api/module.h>

namespace paceline::learn::testing {

void SaveScript(const std::string& path, const std::vector<ScriptTensor>& tensors,
                const std::string& source) {
  const std::map<std::string, at::ScalarType> types = {
      {"float", at::kFloat}, {"double", at::kDouble}, {"long", at::kLong}, {"bool", at::kBool}};
  torch::jit::Module module("Scripted");
  module.register_attribute("training", c10::BoolType::get(), true);
  std::map<std::string, at::Tensor> made;
  for (const ScriptTensor& tensor : tensors) {
    at::Tensor values = tensor.tied_to.empty()
                            ? at::full(tensor.shape, tensor.value, types.at(tensor.type))
                            : made.at(tensor.tied_to);
    made[tensor.name] = values;
    if (tensor.kind == ScriptKind::kBuffer) {
      module.register_buffer(tensor.name, values);
    } else {
      values.set_requires_grad(tensor.kind == ScriptKind::kTrained);
      module.register_parameter(tensor.name, values, /*is_buffer=*/false);
    }
  }
  module.define(source);
  module.save(path);
}

}  // namespace paceline::learn::testing
