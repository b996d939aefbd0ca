#include "lib/learn/backward.h"

#include <exception>
#include <utility>

#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace paceline::learn {
namespace {

// Through LibTorch's engine, which knows no other way to end a pass and hands it on as it is.
class GivenUp : public std::exception {
 public:
  const char* what() const noexcept override { return "backward pass given up"; }
};

// What a pass that ended so had queued on this thread, activations with it, the engine lets go of
// when the next one begins. In the case of a large model that is too late: its forward pass has to
// fit in beside.
void DropWhatIsQueued() {
  const at::Tensor nothing = at::zeros({}, at::kFloat).requires_grad_(true);
  nothing.backward();
}

}  // namespace

class Backward::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  explicit Hook(std::shared_ptr<const Asked> asked) : asked_(std::move(asked)) {}
  void operator()(const at::Tensor&) override {
    if (asked_->keep_going != nullptr && !(*asked_->keep_going)()) throw GivenUp();
  }

 private:
  const std::shared_ptr<const Asked> asked_;
};

Backward::Backward(std::span<const at::Tensor> parameters) : asked_(std::make_shared<Asked>()) {
  for (const at::Tensor& parameter : parameters) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameter, std::make_unique<Hook>(asked_));
  }
}

Backward::~Backward() = default;

bool Backward::Run(const at::Tensor& loss, const std::function<bool()>& keep_going) {
  struct Asking {
    explicit Asking(Asked* asked) : asked(asked) {}
    ~Asking() { asked->keep_going = nullptr; }
    Asked* const asked;
  } const asking(asked_.get());
  if (keep_going) asked_->keep_going = &keep_going;
  try {
    loss.backward();
    return true;
  } catch (const GivenUp&) {
    asked_->keep_going = nullptr;
    DropWhatIsQueued();
    return false;
  }
}

}  // namespace paceline::learn
