// Defines Model: a network whose tensors lie in one flat arrangement of bytes, ready to be sent and
// received.
//
// Two arenas, both aligned to 64 bytes and arranged as layout(): the values (parameters and
// buffers), in which the network's own tensors live, and the push (gradients, then the buffers' new
// values), to which each gradient is moved as it is computed. Nothing else is gathered or
// scattered: what is written to values() is what the network computes on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/learn/builtin.h"
#include "lib/store/layout.h"

namespace paceline::learn {

// Where a model computes. kCuda: the arenas are pinned host memory, and each step copies values to
// the device and the push back.
enum class Device { kCpu, kCuda };

// "cpu", "cuda"; InvalidArgument for anything else.
StatusOr<Device> ParseDevice(std::string_view name);

// Takes the bytes of a step's push from `offset_bytes` of the layout on, valid for the call.
using HandPart = std::function<void(uint64_t offset_bytes, std::span<const std::byte> part)>;

// One owner at a time.
class Model {
 public:
  // A file of torch.jit.script(...).save or trace: parameters that are trained become the layout's
  // parameters; those that are not (requires_grad is false) and float32 and int64 buffers become
  // its buffers. Buffers of bool and small integers (masks) are constants and in no layout. A
  // tensor with several names counts once, under the first.
  //
  // NotFound: no such file. InvalidArgument: not a model; a parameter that is not float32, by name;
  // none at all. FailedPrecondition: kCuda without a usable GPU or CUDA libraries.
  static StatusOr<std::unique_ptr<Model>> Load(const std::string& path, Device device);

  // Equal options and seed give equal bits everywhere.
  static StatusOr<std::unique_ptr<Model>> Make(const BuiltIn& options, uint64_t seed,
                                               Device device);
  ~Model();

  const store::Layout& layout() const;
  std::span<std::byte> values();
  std::span<const std::byte> push() const;

  // From now on backward passes compute no gradients of the parameters of these names: the push has
  // zeros in their place. InvalidArgument if none is left to train.
  Status Freeze(const std::function<bool(std::string_view name)>& is_frozen);

  // Whether the network has its own method loss(inputs, targets).
  bool has_loss() const;

  // For lib/learn's own files that run the network (model_state.h).
  struct State;
  State& state() { return *state_; }

 private:
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace paceline::learn
