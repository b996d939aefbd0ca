#include "lib/learn/backward.h"

#include <exception>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "lib/base/check.h"

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

void MoveHome(const at::Tensor& parameter, const at::Tensor& home) {
  at::Tensor& gradient = parameter.mutable_grad();
  if (gradient.is_same(home)) return;
  const at::NoGradGuard no_grad;
  home.copy_(gradient.is_sparse() ? gradient.to_dense() : gradient);
  gradient = home;
}

}  // namespace

class Backward::Hook final : public torch::autograd::PostAccumulateGradHook {
 public:
  Hook(size_t index, at::Tensor home, std::shared_ptr<const Asked> asked)
      : index_(index), home_(std::move(home)), asked_(std::move(asked)) {}
  void operator()(const at::Tensor& parameter) override {
    if (asked_->hand != nullptr) {
      const at::NoGradGuard no_grad;
      (*asked_->hand)(index_, parameter.grad());
      parameter.mutable_grad().reset();
    } else {
      MoveHome(parameter, home_);
    }
    if (asked_->keep_going != nullptr && !(*asked_->keep_going)()) throw GivenUp();
  }

 private:
  const size_t index_;
  const at::Tensor home_;
  const std::shared_ptr<const Asked> asked_;
};

Backward::Backward(std::span<const at::Tensor> parameters, std::span<const at::Tensor> homes)
    : asked_(std::make_shared<Asked>()) {
  PACELINE_CHECK(parameters.size() == homes.size(), "{} parameters, {} homes", parameters.size(),
                 homes.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(parameters[i],
                                                   std::make_unique<Hook>(i, homes[i], asked_));
  }
}

Backward::~Backward() = default;

bool Backward::Run(const at::Tensor& loss, const std::function<bool()>& keep_going,
                   const Hand& hand) {
  struct Asking {
    explicit Asking(Asked* asked) : asked(asked) {}
    ~Asking() { *asked = {}; }
    Asked* const asked;
  } const asking(asked_.get());
  if (keep_going) asked_->keep_going = &keep_going;
  if (hand) asked_->hand = &hand;
  try {
    loss.backward();
    return true;
  } catch (const GivenUp&) {
    *asked_ = {};
    DropWhatIsQueued();
    return false;
  }
}

}  // namespace paceline::learn
