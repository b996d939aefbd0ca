// Defines Model::State: the network, its arenas as tensors, and what must happen around a step.
// Private to lib/learn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "lib/learn/backward.h"
#include "lib/learn/model.h"
#include "lib/learn/net.h"

namespace paceline::learn {

struct Model::State {
  std::unique_ptr<Net> net;
  store::Layout layout;
  at::Device device = at::kCPU;

  // Bytes, arranged as the layout. On the CPU the device's tensors are the host's.
  at::Tensor values;
  at::Tensor push;
  at::Tensor device_values;
  at::Tensor device_push;

  std::vector<at::Tensor> parameters;  // The network's own, in the order of the layout.
  std::vector<at::Tensor> gradients;   // Views of device_push, one a parameter.
  std::unique_ptr<Backward> backward;  // Over the parameters.
  std::vector<at::Tensor>
      buffers;  // The network's own, in the order of Net::Buffers(); KeepBuffers takes them.
  at::Tensor saved_buffers;  // Their bytes in `values` as the step found them.

  // As Training has it.
  bool ComputeOn(std::span<std::byte> elsewhere);

  // Brings the host's values to the device: parameters from where ComputeOn says they are.
  void Upload();

  // Forgets the gradients, remembers the buffers and uploads. Then one or more backward passes may
  // run. With `loss_scale` they are of losses multiplied by it: gradients are divided by it before
  // they are handed over or left, and looked at.
  void BeginStep(std::optional<double> loss_scale = std::nullopt);

  // What hands a final gradient over in a backward pass; empty without `hand`, which outlives it,
  // and for a GPU, whose gradients EndStep hands over.
  Backward::Hand HandTo(const HandPart& hand);

  // Leaves the gradients in `push`, and the buffers' new values in `push` and `values`; or hands
  // over what was not yet.
  void EndStep(const HandPart& hand = {});

  // Of a step that has ended: parameters, by index, that are not frozen and got no gradient.
  const std::vector<uint32_t>& without_gradient() const { return without_gradient_; }

  // Of a step that has ended and had a loss scale. Waits for the device.
  bool AreGradientsFinite() const;

  // Gives the buffers the values that BeginStep found; nothing else has changed since, but for the
  // gradients, which the next BeginStep zeroes. Does not throw.
  void AbandonStep() noexcept;

 private:
  void FindMissingGradients();
  void ZeroMissingGradients();
  void Unscale(at::TensorList gradients);
  void HandGradient(size_t index, const at::Tensor& gradient, const HandPart& hand);
  void HandTheRest(const HandPart& hand);

  at::Tensor elsewhere_;         // Of a GPU's values: what ComputeOn was given, else undefined.
  std::vector<bool> is_handed_;  // Gradients of this step, one a parameter.
  std::vector<uint32_t> without_gradient_;
  at::Tensor inverse_scale_;   // Undefined without a loss scale.
  at::Tensor found_infinite_;  // Not 0: some gradient was not finite.
};

}  // namespace paceline::learn
