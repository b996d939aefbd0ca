// Defines Model::State: the network, its arenas as tensors, and what must happen around a step.
// Private to lib/learn.
#pragma once

#include <memory>
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

  // Brings the host's values to the device.
  void Upload();

  // Forgets the gradients, remembers the buffers and uploads. Then one or more backward passes may
  // run.
  void BeginStep();

  // Leaves the gradients in `push`, and the buffers' new values in `push` and `values`.
  void EndStep();

  // Gives the buffers the values that BeginStep found; nothing else has changed since, but for the
  // gradients, which the next BeginStep zeroes. Does not throw.
  void AbandonStep() noexcept;

 private:
  void ZeroMissingGradients();
};

}  // namespace paceline::learn
