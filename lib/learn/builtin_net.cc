#include <cmath>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>

#include "lib/base/epoch_order.h"
#include "lib/learn/data/columns.h"
#include "lib/learn/net.h"

namespace paceline::learn {
namespace {

struct Layer {
  std::string name;
  at::Tensor weight;
  at::Tensor bias;
};

class BuiltInNet : public Net {
 public:
  BuiltInNet(std::vector<Layer> convolutions, std::vector<Layer> linears)
      : convolutions_(std::move(convolutions)), linears_(std::move(linears)) {}

  std::vector<NamedTensor> Parameters() override {
    std::vector<NamedTensor> tensors;
    for (const auto* layers : {&convolutions_, &linears_}) {
      for (const Layer& layer : *layers) {
        tensors.push_back({layer.name + ".weight", layer.weight});
        tensors.push_back({layer.name + ".bias", layer.bias});
      }
    }
    return tensors;
  }
  std::vector<NamedTensor> Buffers() override { return {}; }
  void KeepBuffers(std::span<const at::Tensor>) override {}
  void SetMode(NetMode) override {}
  bool TakeLearntStatistics() override { return false; }  // None has batch norm.

  Outputs Forward(std::span<const at::Tensor> inputs) override {
    at::Tensor x = inputs.front();
    for (const Layer& layer : convolutions_) {
      x = at::relu(at::conv2d(x, layer.weight, layer.bias, /*stride=*/1, /*padding=*/1));
    }
    if (!convolutions_.empty()) x = at::max_pool2d(x, 2);
    x = x.flatten(1);
    for (size_t i = 0; i < linears_.size(); ++i) {
      if (i > 0) x = at::relu(x);
      x = at::linear(x, linears_[i].weight, linears_[i].bias);
    }
    return {x, "the model's outputs"};
  }

  bool HasLoss() const override { return false; }
  at::Tensor Loss(std::span<const at::Tensor>, const at::Tensor&) override { return {}; }
  bool HasMetrics(size_t) const override { return false; }
  std::map<std::string, double> Metrics(std::span<const at::Tensor>, const at::Tensor&) override {
    return {};
  }

 private:
  std::vector<Layer> convolutions_;
  std::vector<Layer> linears_;
};

// Drawn on the host whatever the device, so that all devices begin alike.
at::Tensor Draw(at::IntArrayRef shape, double bound, SplitMix64& random) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* values = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    values[i] = static_cast<float>((2 * random.Uniform() - 1) * bound);
  }
  return tensor;
}

Layer MakeLayer(std::string name, const std::vector<int64_t>& weight_shape, SplitMix64& random) {
  int64_t fan_in = 1;
  for (size_t i = 1; i < weight_shape.size(); ++i) fan_in *= weight_shape[i];
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  at::Tensor weight = Draw(weight_shape, bound, random);
  return {std::move(name), std::move(weight), Draw({weight_shape[0]}, bound, random)};
}

Status CheckSizes(const char* field, const std::vector<int64_t>& sizes) {
  for (const int64_t size : sizes) {
    if (size < 1) return InvalidArgument("{} has a size below 1: {}", field, ShapeText(sizes));
  }
  return OkStatus();
}

Status Check(const BuiltIn& options) {
  PACELINE_RETURN_IF_ERROR(CheckSizes("input_shape", options.input_shape));
  PACELINE_RETURN_IF_ERROR(CheckSizes("hidden", options.hidden));
  PACELINE_RETURN_IF_ERROR(CheckSizes("channels", options.channels));
  if (options.input_shape.empty()) return InvalidArgument("input_shape is empty");
  if (options.outputs < 1)
    return InvalidArgument("outputs is {}, want at least 1", options.outputs);
  if (options.kind != BuiltInKind::kCnn) return OkStatus();
  const std::vector<int64_t>& shape = options.input_shape;
  if (shape.size() != 3 || shape[1] < 2 || shape[2] < 2) {
    return InvalidArgument(
        "input_shape of a cnn is {}, want [channels, height, width], both at least 2",
        ShapeText(shape));
  }
  if (options.channels.empty()) return InvalidArgument("channels is empty");
  return OkStatus();
}

}  // namespace

StatusOr<BuiltInKind> ParseBuiltInKind(std::string_view name) {
  if (name == "softmax") return BuiltInKind::kSoftmax;
  if (name == "mlp") return BuiltInKind::kMlp;
  if (name == "cnn") return BuiltInKind::kCnn;
  return InvalidArgument("no built-in model is called \"{}\": want softmax, mlp or cnn", name);
}

StatusOr<std::unique_ptr<Net>> MakeBuiltInNet(const BuiltIn& options, uint64_t seed,
                                              const at::Device& device) {
  PACELINE_RETURN_IF_ERROR(Check(options));
  SplitMix64 random(seed);
  std::vector<Layer> convolutions;
  int64_t width = 1;
  for (const int64_t size : options.input_shape) width *= size;
  if (options.kind == BuiltInKind::kCnn) {
    int64_t channels = options.input_shape[0];
    for (const int64_t next : options.channels) {
      const std::string name = fmt::format("conv{}", convolutions.size() + 1);
      convolutions.push_back(MakeLayer(name, {next, channels, 3, 3}, random));
      channels = next;
    }
    width = channels * (options.input_shape[1] / 2) * (options.input_shape[2] / 2);
  }

  std::vector<Layer> linears;
  if (options.kind == BuiltInKind::kSoftmax) {
    linears.push_back(MakeLayer("fc", {options.outputs, width}, random));
  } else {
    std::vector<int64_t> widths = options.hidden;
    widths.push_back(options.outputs);
    for (const int64_t next : widths) {
      const std::string name = fmt::format("fc{}", linears.size() + 1);
      linears.push_back(MakeLayer(name, {next, width}, random));
      width = next;
    }
  }
  for (auto* layers : {&convolutions, &linears}) {
    for (Layer& layer : *layers) {
      layer.weight = layer.weight.to(device).requires_grad_(true);
      layer.bias = layer.bias.to(device).requires_grad_(true);
    }
  }
  return std::make_unique<BuiltInNet>(std::move(convolutions), std::move(linears));
}

}  // namespace paceline::learn
