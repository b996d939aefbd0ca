// Defines Net, what Model wants of a network; a TorchScript file and the built-in ones implement
// it. Private to lib/learn, as it names LibTorch's types.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "lib/base/status.h"
#include "lib/learn/builtin.h"

namespace paceline::learn {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

enum class NetMode { kTraining, kEvaluation };

// What a network's forward gives to be judged: of a tensor it, of a tuple or list its first tensor,
// of a dict its tensor "logits", else its first one.
struct Outputs {
  at::Tensor tensor;  // Undefined where there is none.
  std::string from;   // "element 0 of the tuple that forward returns"; or what it returns instead.
};

// Throws what LibTorch throws. One owner at a time.
class Net {
 public:
  virtual ~Net() = default;

  // Each tensor once, under its first name, in the network's own order. Handles: set_data on them
  // moves the network's tensors to other memory.
  virtual std::vector<NamedTensor> Parameters() = 0;
  virtual std::vector<NamedTensor> Buffers() = 0;

  // Where the network bound another tensor to the name of a buffer, copies its value into the
  // buffer's own memory and binds that again. `buffers` are handles, in the order of Buffers(); an
  // undefined one is left alone.
  virtual void KeepBuffers(std::span<const at::Tensor> buffers) = 0;

  virtual void SetMode(NetMode mode) = 0;
  // Until the next SetMode, batch norm takes the statistics that it has learnt, where it has learnt
  // some. False: none has.
  virtual bool TakeLearntStatistics() = 0;
  // `inputs`, here and below: forward's arguments.
  virtual Outputs Forward(std::span<const at::Tensor> inputs) = 0;

  // A scalar, the mean over the samples. Only if HasLoss().
  virtual bool HasLoss() const = 0;
  virtual at::Tensor Loss(std::span<const at::Tensor> inputs, const at::Tensor& targets) = 0;

  // Means over the samples, by name. Only if HasMetrics() of so many inputs.
  virtual bool HasMetrics(size_t inputs) const = 0;
  virtual std::map<std::string, double> Metrics(std::span<const at::Tensor> inputs,
                                                const at::Tensor& targets) = 0;
};

// Of the calling thread.
enum class ScriptOptimizer { kOn, kOff };

// Gives what it was before.
ScriptOptimizer SetScriptOptimizer(ScriptOptimizer optimizer);

// Loads a file of torch.jit.save onto `device`.
StatusOr<std::unique_ptr<Net>> LoadScriptNet(const std::string& path, const at::Device& device);

// InvalidArgument if the options describe no network.
StatusOr<std::unique_ptr<Net>> MakeBuiltInNet(const BuiltIn& options, uint64_t seed,
                                              const at::Device& device);

}  // namespace paceline::learn
