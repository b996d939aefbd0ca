#include "lib/learn/backward.h"

#include <memory>
#include <vector>

#include <ATen/ops/full.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

namespace paceline::learn {
namespace {

constexpr int kLayers = 4;

struct Fixture {
  Fixture() {
    for (int i = 0; i < kLayers; ++i) {
      weights.push_back(at::full({8, 8}, 0.25).requires_grad_(true));
      homes.push_back(at::zeros({8, 8}));
    }
    backward = std::make_unique<Backward>(weights, homes);
  }
  at::Tensor Loss() const {
    at::Tensor x = at::full({2, 8}, 1.0);
    for (const at::Tensor& weight : weights) x = at::relu(at::linear(x, weight));
    return x.sum();
  }
  int HaveGradients() const {
    int count = 0;
    for (const at::Tensor& home : homes) count += home.ne(0).any().item<bool>();
    return count;
  }

  std::vector<at::Tensor> weights, homes;
  std::unique_ptr<Backward> backward;
};

TEST(BackwardTest, AsksWhileTheOtherGradientsAreToCome) {
  const Fixture f;
  std::vector<int> had;
  EXPECT_TRUE(f.backward->Run(f.Loss(), [&] {
    had.push_back(f.HaveGradients());
    return true;
  }));
  EXPECT_EQ(had, (std::vector<int>{1, 2, 3, 4}));
}

TEST(BackwardTest, PassesAddUpAtHomeUntilTheGradientIsForgotten) {
  const Fixture f;
  EXPECT_TRUE(f.backward->Run(f.Loss(), {}));
  const at::Tensor once = f.homes[1].clone();
  EXPECT_TRUE(f.backward->Run(f.Loss(), {}));
  EXPECT_TRUE(f.homes[1].equal(once.mul(2)));
  EXPECT_TRUE(f.weights[1].grad().is_same(f.homes[1]));
  for (const at::Tensor& weight : f.weights) weight.mutable_grad().reset();
  EXPECT_TRUE(f.backward->Run(f.Loss(), {}));
  EXPECT_TRUE(f.homes[1].equal(once));
}

TEST(BackwardTest, AsksNobodyWhereThereIsNobody) {
  const Fixture f;
  EXPECT_TRUE(f.backward->Run(f.Loss(), {}));
  EXPECT_EQ(f.HaveGradients(), kLayers);
}

TEST(BackwardTest, EndsWhereItIsTold) {
  for (int allowed = 0; allowed < kLayers; ++allowed) {
    const Fixture f;
    int asked = 0;
    EXPECT_FALSE(f.backward->Run(f.Loss(), [&] { return ++asked <= allowed; }));
    EXPECT_EQ(asked, allowed + 1);
    EXPECT_EQ(f.HaveGradients(), allowed + 1);
  }
}

// What asks belongs to one pass: it may be gone by the next.
TEST(BackwardTest, APassThatWasGivenUpAsksNobodyLater) {
  const Fixture f;
  EXPECT_FALSE(f.backward->Run(f.Loss(), [] { return false; }));
  f.Loss().backward();
  EXPECT_EQ(f.HaveGradients(), kLayers);
}

TEST(BackwardTest, WhatIsThrownIsHandedOn) {
  const Fixture f;
  EXPECT_ANY_THROW(f.backward->Run(f.Loss(), []() -> bool { TORCH_CHECK(false, "broken"); }));
  EXPECT_TRUE(f.backward->Run(f.Loss(), [] { return true; }));
}

using Node = torch::autograd::Node;

void Collect(const std::shared_ptr<Node>& node, std::vector<std::weak_ptr<Node>>& into) {
  into.emplace_back(node);
  for (const auto& edge : node->next_edges()) {
    if (edge.is_valid()) Collect(edge.function, into);
  }
}

// LibTorch's engine keeps what it had queued, and all that this refers to, until another pass
// begins; it would lie beside the next step's activations.
TEST(BackwardTest, NothingOfAPassThatWasGivenUpStaysInMemory) {
  const Fixture f;
  std::vector<std::weak_ptr<Node>> nodes;
  {
    const at::Tensor loss = f.Loss();
    Collect(loss.grad_fn(), nodes);
    ASSERT_FALSE(f.backward->Run(loss, [] { return false; }));
  }
  ASSERT_GT(nodes.size(), 2u * kLayers);
  for (const auto& node : nodes) EXPECT_TRUE(node.expired());
}

}  // namespace
}  // namespace paceline::learn
