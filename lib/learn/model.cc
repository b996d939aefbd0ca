#include "lib/learn/model.h"

#include <cstring>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "lib/base/check.h"
#include "lib/learn/catch_torch.h"
#include "lib/learn/cuda_probe.h"
#include "lib/learn/data/columns.h"
#include "lib/learn/model_state.h"

namespace paceline::learn {
namespace {

constexpr uint64_t kAlignmentBytes = 64;

StatusOr<at::Device> Prepare(Device device) {
  if (device == Device::kCpu) return at::Device(at::kCPU);
  static const Status usable = CheckCuda(ThisMachine());
  PACELINE_RETURN_IF_ERROR(usable);
  return at::Device(at::kCUDA, 0);
}

struct Found {
  store::TensorSpec spec;
  at::Tensor tensor;
};

StatusOr<store::TensorSpec> Describe(const NamedTensor& named, store::TensorKind kind) {
  store::TensorSpec spec;
  spec.name = named.name;
  spec.shape.assign(named.tensor.sizes().begin(), named.tensor.sizes().end());
  spec.kind = kind;
  const bool is_parameter = kind == store::TensorKind::kParameter;
  if (named.tensor.scalar_type() == at::kFloat) {
    spec.type = store::DataType::kFloat32;
  } else if (named.tensor.scalar_type() == at::kLong && !is_parameter) {
    spec.type = store::DataType::kInt64;
  } else {
    return InvalidArgument(
        "{} {} of the model is of type {}, want float32{}", is_parameter ? "parameter" : "buffer",
        named.name, c10::toString(named.tensor.scalar_type()), is_parameter ? "" : " or int64");
  }
  return spec;
}

bool IsConstant(const at::Tensor& buffer) {
  return !buffer.is_floating_point() && !buffer.is_complex() && buffer.scalar_type() != at::kLong;
}

StatusOr<std::vector<Found>> FindTensors(Net& net) {
  std::vector<Found> found;
  for (const NamedTensor& named : net.Parameters()) {
    const auto kind =
        named.tensor.requires_grad() ? store::TensorKind::kParameter : store::TensorKind::kBuffer;
    PACELINE_ASSIGN_OR_RETURN(store::TensorSpec spec, Describe(named, kind));
    for (const Found& other : found) {
      if (named.tensor.numel() > 0 && other.tensor.data_ptr() == named.tensor.data_ptr()) {
        return InvalidArgument(
            "parameters {} and {} of the model share memory without being one tensor",
            other.spec.name, named.name);
      }
    }
    found.push_back({std::move(spec), named.tensor});
  }
  for (const NamedTensor& named : net.Buffers()) {
    if (IsConstant(named.tensor)) continue;
    PACELINE_ASSIGN_OR_RETURN(store::TensorSpec spec, Describe(named, store::TensorKind::kBuffer));
    found.push_back({std::move(spec), named.tensor});
  }
  return found;
}

at::Tensor View(const at::Tensor& arena, const store::TensorPlace& place) {
  const auto type = place.spec.type == store::DataType::kFloat32 ? at::kFloat : at::kLong;
  return arena
      .narrow(0, static_cast<int64_t>(place.offset_bytes), static_cast<int64_t>(place.size_bytes))
      .view(type)
      .view(place.spec.shape);
}

at::Tensor HostBytes(uint64_t size, const at::Device& device) {
  const auto options = at::TensorOptions(at::kByte).pinned_memory(device.is_cuda());
  at::Tensor bytes = at::zeros({static_cast<int64_t>(size)}, options);
  PACELINE_CHECK(reinterpret_cast<uintptr_t>(bytes.data_ptr()) % kAlignmentBytes == 0,
                 "arena of {} bytes is not aligned", size);
  return bytes;
}

at::Tensor ParameterPart(const at::Tensor& arena, const store::Layout& layout) {
  return arena.narrow(0, 0, static_cast<int64_t>(layout.parameter_bytes()));
}

at::Tensor BufferPart(const at::Tensor& arena, const store::Layout& layout) {
  const auto begin = static_cast<int64_t>(layout.parameter_bytes());
  return arena.narrow(0, begin, static_cast<int64_t>(layout.total_bytes()) - begin);
}

void Allocate(Model::State& state) {
  state.values = HostBytes(state.layout.total_bytes(), state.device);
  state.push = HostBytes(state.layout.total_bytes(), state.device);
  state.device_values = state.device.is_cuda() ? state.values.to(state.device) : state.values;
  state.device_push = state.device.is_cuda() ? state.push.to(state.device) : state.push;
  state.saved_buffers = at::empty_like(BufferPart(state.values, state.layout));
}

// Moves the network's tensors into the arenas.
void Bind(Model::State& state, const std::vector<Found>& found) {
  std::vector<bool> is_bound(found.size(), false);
  for (const store::TensorPlace& place : state.layout.tensors()) {
    for (size_t i = 0; i < found.size(); ++i) {
      if (is_bound[i] || found[i].spec.name != place.spec.name) continue;
      at::Tensor tensor = found[i].tensor;
      at::Tensor home = View(state.device_values, place);
      home.copy_(tensor.detach());
      tensor.set_data(home);
      if (place.spec.kind == store::TensorKind::kParameter) {
        state.parameters.push_back(tensor);
        state.gradients.push_back(View(state.device_push, place));
      }
      is_bound[i] = true;
    }
  }
  for (const NamedTensor& buffer : state.net->Buffers()) {
    state.buffers.push_back(IsConstant(buffer.tensor) ? at::Tensor() : buffer.tensor);
  }
  state.backward = std::make_unique<Backward>(state.parameters, state.gradients);
  if (state.device.is_cuda()) state.values.copy_(state.device_values);
}

StatusOr<std::unique_ptr<Model::State>> Assemble(std::unique_ptr<Net> net,
                                                 const at::Device& device) {
  return CatchTorch([&]() -> StatusOr<std::unique_ptr<Model::State>> {
    const at::NoGradGuard no_grad;
    auto state = std::make_unique<Model::State>();
    state->net = std::move(net);
    state->device = device;
    PACELINE_ASSIGN_OR_RETURN(const std::vector<Found> found, FindTensors(*state->net));
    std::vector<store::TensorSpec> specs;
    for (const Found& each : found) specs.push_back(each.spec);
    PACELINE_ASSIGN_OR_RETURN(state->layout, store::Layout::Create(specs));
    Allocate(*state);
    Bind(*state, found);
    return state;
  });
}

}  // namespace

StatusOr<Device> ParseDevice(std::string_view name) {
  if (name == "cpu") return Device::kCpu;
  if (name == "cuda") return Device::kCuda;
  return InvalidArgument("no device is called \"{}\": want cpu or cuda", name);
}

StatusOr<std::unique_ptr<Model>> Model::Load(const std::string& path, Device device) {
  PACELINE_ASSIGN_OR_RETURN(const at::Device prepared, Prepare(device));
  if (std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                           &std::fclose);
      file == nullptr) {
    return NotFound("cannot read model {}: {}", path, std::strerror(errno));
  }
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<Net> net, LoadScriptNet(path, prepared));
  StatusOr<std::unique_ptr<State>> state = Assemble(std::move(net), prepared);
  if (!state.ok()) return Annotate(state.status(), "model " + path);
  return std::unique_ptr<Model>(new Model(*std::move(state)));
}

StatusOr<std::unique_ptr<Model>> Model::Make(const BuiltIn& options, uint64_t seed, Device device) {
  PACELINE_ASSIGN_OR_RETURN(const at::Device prepared, Prepare(device));
  StatusOr<std::unique_ptr<Net>> net =
      CatchTorch([&] { return MakeBuiltInNet(options, seed, prepared); });
  if (!net.ok()) return Annotate(net.status(), "built-in model");
  PACELINE_ASSIGN_OR_RETURN(std::unique_ptr<State> state, Assemble(*std::move(net), prepared));
  return std::unique_ptr<Model>(new Model(std::move(state)));
}

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::~Model() = default;

const store::Layout& Model::layout() const { return state_->layout; }

std::span<std::byte> Model::values() {
  return {static_cast<std::byte*>(state_->values.data_ptr()), state_->layout.total_bytes()};
}

std::span<const std::byte> Model::push() const {
  return {static_cast<const std::byte*>(state_->push.data_ptr()), state_->layout.total_bytes()};
}

Status Model::Freeze(const std::function<bool(std::string_view name)>& is_frozen) {
  size_t trained = 0;
  for (size_t i = 0; i < state_->parameters.size(); ++i) {
    const bool is_left = is_frozen(state_->layout.tensors()[i].spec.name);
    if (is_left) state_->parameters[i].set_requires_grad(false);
    trained += is_left ? 0 : 1;
  }
  if (trained == 0) return InvalidArgument("all parameters are frozen: nothing is left to train");
  return OkStatus();
}

bool Model::has_loss() const { return state_->net->HasLoss(); }

bool Model::State::ComputeOn(std::span<std::byte> elsewhere) {
  const at::NoGradGuard no_grad;
  const auto size = static_cast<int64_t>(layout.total_bytes());
  const at::Tensor there =
      elsewhere.empty() ? at::Tensor() : at::from_blob(elsewhere.data(), {size}, at::kByte);
  if (device.is_cuda()) {
    elsewhere_ = there;  // The device's own memory stays: each step brings the values there.
  } else {
    const at::Tensor& arena = there.defined() ? there : values;
    for (size_t i = 0; i < parameters.size(); ++i)
      parameters[i].set_data(View(arena, layout.tensors()[i]));
  }
  if (there.defined()) BufferPart(values, layout).copy_(BufferPart(there, layout));
  return true;
}

void Model::State::Upload() {
  if (!device.is_cuda()) return;
  if (!elsewhere_.defined()) {
    device_values.copy_(values, /*non_blocking=*/true);
    return;
  }
  if (at::get_num_threads() > 1) {
    // They copy to pinned memory sooner than the driver does, which has one thread for it.
    ParameterPart(values, layout).copy_(ParameterPart(elsewhere_, layout));
    device_values.copy_(values, /*non_blocking=*/true);
    return;
  }
  ParameterPart(device_values, layout).copy_(ParameterPart(elsewhere_, layout));
  BufferPart(device_values, layout).copy_(BufferPart(values, layout), /*non_blocking=*/true);
}

void Model::State::BeginStep(std::optional<double> loss_scale) {
  const at::NoGradGuard no_grad;
  inverse_scale_.reset();
  if (loss_scale) {
    const auto options = at::TensorOptions(at::kFloat).device(device);
    inverse_scale_ = at::full({}, 1 / *loss_scale, options);
    found_infinite_ = at::zeros({}, options);
  }
  saved_buffers.copy_(BufferPart(values, layout));
  Upload();
  for (const at::Tensor& parameter : parameters) parameter.mutable_grad().reset();
  is_handed_.assign(parameters.size(), false);
}

// Parameters come first in the layout: an index is a place there.
void Model::State::FindMissingGradients() {
  without_gradient_.clear();
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!is_handed_[i] && !parameters[i].grad().defined() && parameters[i].requires_grad())
      without_gradient_.push_back(static_cast<uint32_t>(i));
  }
}

void Model::State::ZeroMissingGradients() {
  for (size_t i = 0; i < parameters.size(); ++i) {
    // No pass has come to it.
    if (!parameters[i].grad().defined()) gradients[i].zero_();
  }
}

void Model::State::Unscale(at::TensorList gradients) {
  if (!inverse_scale_.defined()) return;
  at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_infinite_, inverse_scale_);
}

bool Model::State::AreGradientsFinite() const { return found_infinite_.item<float>() == 0; }

Backward::Hand Model::State::HandTo(const HandPart& hand) {
  if (!hand || device.is_cuda()) return {};
  return [this, &hand](size_t index, const at::Tensor& gradient) {
    HandGradient(index, gradient, hand);
  };
}

// Parameters come first in the layout, in the order of `parameters`.
void Model::State::HandGradient(size_t index, const at::Tensor& gradient, const HandPart& hand) {
  const at::Tensor dense = (gradient.is_sparse() ? gradient.to_dense() : gradient).contiguous();
  Unscale(dense);
  const store::TensorPlace& place = layout.tensors()[index];
  hand(place.offset_bytes,
       {static_cast<const std::byte*>(dense.const_data_ptr()), place.size_bytes});
  is_handed_[index] = true;
}

void Model::State::HandTheRest(const HandPart& hand) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (is_handed_[i]) continue;
    // The last pass has not come to it.
    HandGradient(i, parameters[i].grad().defined() ? parameters[i].grad() : gradients[i].zero_(),
                 hand);
  }
  const at::Tensor kept = BufferPart(values, layout);
  if (kept.numel() > 0) {
    hand(layout.parameter_bytes(),
         {static_cast<const std::byte*>(kept.const_data_ptr()), static_cast<size_t>(kept.numel())});
  }
}

void Model::State::EndStep(const HandPart& hand) {
  const at::NoGradGuard no_grad;
  const bool is_in_parts = hand && !device.is_cuda();
  FindMissingGradients();
  if (!is_in_parts) ZeroMissingGradients();
  net->KeepBuffers(buffers);
  if (is_in_parts) return HandTheRest(hand);
  Unscale(gradients);
  BufferPart(device_push, layout).copy_(BufferPart(device_values, layout));
  if (!device.is_cuda()) return;
  push.copy_(device_push);
  BufferPart(values, layout).copy_(BufferPart(push, layout));
  if (hand) {
    hand(0,
         {static_cast<const std::byte*>(push.const_data_ptr()), static_cast<size_t>(push.numel())});
  }
}

void Model::State::AbandonStep() noexcept {
  (void)CatchTorch([&]() -> Status {
    const at::NoGradGuard no_grad;
    net->KeepBuffers(buffers);
    return OkStatus();
  });
  if (saved_buffers.numel() == 0) return;
  std::memcpy(static_cast<std::byte*>(values.data_ptr()) + layout.parameter_bytes(),
              saved_buffers.data_ptr(), static_cast<size_t>(saved_buffers.numel()));
}

}  // namespace paceline::learn
