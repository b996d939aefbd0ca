// Defines Backward, a backward pass that leaves gradients where they are wanted and can be given up
// in its middle. Private to lib/learn, as it names LibTorch's types.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include <ATen/core/Tensor.h>

namespace paceline::learn {

// Hooks on a network's parameters. They fire one after the other while the pass runs only where the
// optimising executor of TorchScript is off (ExecutionScope): it runs what it has fused as one.
// One owner at a time.
class Backward {
 public:
  // On leaves that have no other hook of the kind. As soon as a parameter has its gradient, that is
  // moved to its home, a tensor of its shape, which then is its gradient: further passes
  // add to it until somebody makes the gradient undefined. A copy costs less than zeroing homes and
  // adding to them would.
  Backward(std::span<const at::Tensor> parameters, std::span<const at::Tensor> homes);
  ~Backward();  // Of the hooks, none asks anybody any more.
  Backward(const Backward&) = delete;
  Backward& operator=(const Backward&) = delete;

  // Takes the gradient of the parameter of that index, for the call.
  using Hand = std::function<void(size_t index, const at::Tensor& gradient)>;

  // Asks `keep_going`, if it is set, as soon as a parameter has its gradient, on the thread that
  // computes it: LibTorch's own, for a GPU. False: the pass was given up when it said no. Gradients
  // hold anything then, and nothing of the pass is left in memory once `loss` is gone. Throws what
  // LibTorch throws.
  //
  // With `hand` the pass is the last one: a gradient, with what earlier passes added to it, goes
  // there before the question, instead of home, and is undefined afterwards. Its memory is free
  // while the pass goes on.
  bool Run(const at::Tensor& loss, const std::function<bool()>& keep_going, const Hand& hand = {});

 private:
  class Hook;
  struct Asked {
    const std::function<bool()>* keep_going = nullptr;  // Of the pass that runs...
    const Hand* hand = nullptr;                         // ...this too.
  };
  const std::shared_ptr<Asked> asked_;
};

}  // namespace paceline::learn
