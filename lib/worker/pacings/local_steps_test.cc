#include "lib/worker/pacings/local_steps.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/store/kernels.h"

namespace paceline::worker {
namespace {

using ::testing::ElementsAre;

// Two parameters, and a buffer of one.
store::Layout SmallLayout() {
  return *store::Layout::Create(
      {{.name = "w", .shape = {2}},
       {.name = "mean", .shape = {1}, .kind = store::TensorKind::kBuffer}});
}

using Floats = std::vector<float>;

std::span<const std::byte> Bytes(const Floats& floats) { return std::as_bytes(std::span(floats)); }
std::span<std::byte> Bytes(Floats& floats) { return std::as_writable_bytes(std::span(floats)); }

LocalSteps Make(const optim::SgdOptions& sgd = {}, std::optional<double> clip = std::nullopt) {
  StatusOr<LocalSteps> local =
      LocalSteps::Create({.optimizer = sgd, .gradient_clip_norm = clip}, SmallLayout());
  EXPECT_TRUE(local.ok()) << local.status();
  return *std::move(local);
}

TEST(LocalSteps, CutsOffWhatIsNotPushedYet) {
  LocalSteps local = Make();
  Floats values{1, 2, 7}, push(3);
  local.Begin(Bytes(values));
  local.Step(Bytes(Floats{4, 8, 9}), 0.25, Bytes(values));
  EXPECT_THAT(values, ElementsAre(0, 0, 7));
  local.Cut(Bytes(values), Bytes(push));
  EXPECT_THAT(push, ElementsAre(-1, -2, 7));  // The buffer as it is.

  // Two steps since then travel together.
  local.Step(Bytes(Floats{4, 0, 0}), 0.25, Bytes(values));
  local.Step(Bytes(Floats{0, 4, 0}), 0.5, Bytes(values));
  local.Cut(Bytes(values), Bytes(push));
  EXPECT_THAT(push, ElementsAre(-1, -2, 7));
  local.Cut(Bytes(values), Bytes(push));
  EXPECT_THAT(push, ElementsAre(0, 0, 7));
}

TEST(LocalSteps, StepsEachParameterAsItsGroupSays) {
  const store::Layout layout = *store::Layout::Create(
      {{.name = "w", .shape = {2}}, {.name = "bias", .shape = {1}}, {.name = "t", .shape = {1}}});
  LocalSteps local = *LocalSteps::Create(
      {.optimizer = optim::SgdOptions{.momentum = 0.5, .weight_decay = 0.5},
       .parameter_groups = {{.match = {"b*"}, .weight_decay = 0.0, .rate_scale = 2},
                            {.match = {"t"}, .is_frozen = true}}},
      layout);
  Floats values{2, 0, 2, 2}, push(4);
  local.Begin(Bytes(values));
  local.Step(Bytes(Floats{1, 1, 1, 1}), 0.5, Bytes(values));
  EXPECT_THAT(values, ElementsAre(1, -0.5f, 1, 2));
  local.Cut(Bytes(values), Bytes(push));
  EXPECT_THAT(push, ElementsAre(-1, -0.5f, -1, 0));
}

TEST(LocalSteps, LeaveOutWhatHasNoGradientAndItsDeltaIsZero) {
  const store::Layout layout =
      *store::Layout::Create({{.name = "w", .shape = {1}}, {.name = "head", .shape = {1}}});
  LocalSteps local = *LocalSteps::Create(
      {.optimizer = optim::SgdOptions{.momentum = 0.5, .weight_decay = 0.5}}, layout);
  Floats values{2, 2}, push(2);
  local.Begin(Bytes(values));
  local.Step(Bytes(Floats{1, 0}), 0.5, Bytes(values), std::vector<uint32_t>{1});
  EXPECT_THAT(values, ElementsAre(1, 2));
  local.Cut(Bytes(values), Bytes(push));
  EXPECT_THAT(push, ElementsAre(-1, 0));
  local.Step(Bytes(Floats{0, 1}), 0.5, Bytes(values), std::vector<uint32_t>{0});
  EXPECT_THAT(values, ElementsAre(1, 1));
  local.Step(Bytes(Floats{1, 0}), 0.5, Bytes(values), std::vector<uint32_t>{1});
  EXPECT_THAT(values, ElementsAre(-0.25f, 1));  // (1.5 + 2 * 0.5) / 2
}

// At the first step LAMB's update is the gradient's sign: each tensor moves by rate x its own norm.
TEST(LocalSteps, KnowsTheNormsOfWholeTensors) {
  constexpr int64_t kLarge = 40000;  // More than two blocks.
  const store::Layout layout =
      *store::Layout::Create({{.name = "large", .shape = {kLarge}}, {.name = "w", .shape = {4}}});
  LocalSteps local = *LocalSteps::Create(
      {.optimizer = optim::LambOptions{.epsilon = 1e-12, .weight_decay = 0}}, layout);
  Floats values(kLarge + 4, 3), gradient(kLarge + 4, 0.5f);
  std::fill(values.end() - 4, values.end(), 5.0f);
  local.Begin(Bytes(values));
  local.Step(Bytes(gradient), 0.1, Bytes(values));
  for (const size_t i : {0, 20000, 39999}) EXPECT_NEAR(values[i], 3 - 0.3, 1e-5) << i;
  EXPECT_NEAR(values.back(), 5 - 0.5, 1e-5);
}

TEST(LocalSteps, PutsWhatIsNotPushedOnTopOfANewVersion) {
  LocalSteps local = Make();
  Floats values{0, 0, 1}, push(3);
  local.Begin(Bytes(values));
  local.Step(Bytes(Floats{-1, 0, 0}), 1, Bytes(values));
  local.Cut(Bytes(values), Bytes(push));  // On its way: the new version may hold it.
  local.Step(Bytes(Floats{0, -1, 0}), 1, Bytes(values));
  local.Rebase(Bytes(Floats{10, 20, 5}), Bytes(values));
  EXPECT_THAT(values, ElementsAre(10, 21, 5));
  local.Cut(Bytes(values), Bytes(push));
  EXPECT_THAT(push, ElementsAre(0, 1, 5));
}

TEST(LocalSteps, KeepsItsMomentumUntilItForgets) {
  LocalSteps local = Make({.momentum = 0.5});
  Floats values{0, 0, 0};
  local.Begin(Bytes(values));
  local.Step(Bytes(Floats{-1, 0, 0}), 1, Bytes(values));
  EXPECT_EQ(values[0], 1);
  values = {0, 0, 0};  // A new version.
  local.Begin(Bytes(values));
  local.Step(Bytes(Floats{-1, 0, 0}), 1, Bytes(values));
  EXPECT_EQ(values[0], 1.5f);
  local.Forget();
  local.Step(Bytes(Floats{-1, 0, 0}), 1, Bytes(values));
  EXPECT_EQ(values[0], 2.5f);
}

TEST(LocalSteps, ClipsEachGradient) {
  LocalSteps local = Make({}, 1.0);
  Floats values{0, 0, 0};
  local.Begin(Bytes(values));
  local.Step(Bytes(Floats{-3, -4, 100}), 1, Bytes(values));  // Norm 5; a buffer has none.
  EXPECT_NEAR(values[0], 0.6f, 1e-6);
  EXPECT_NEAR(values[1], 0.8f, 1e-6);
}

// A version that came rounded: what is cut off is what the steps did, however far the version that
// they began on was from the shards'.
TEST(LocalSteps, CutOffNothingOfWhatABaseWasRoundedBy) {
  LocalSteps local = Make();
  const Floats exact{1.0009765f, -3.0037f, 7};
  Floats sum = exact, push(3);
  for (int round = 0; round < 100; ++round) {
    std::vector<uint16_t> numbers(2);
    Floats values = sum;
    store::RoundToBfloat16(std::span(sum).first(2), numbers);
    store::WidenBfloat16(numbers, std::span(values).first(2));
    ASSERT_NE(values, sum);
    local.Begin(Bytes(values));
    local.Step(Bytes(Floats{0.5f, -0.25f, 9}), round % 2 == 0 ? 0.5 : -0.5, Bytes(values));
    local.Cut(Bytes(values), Bytes(push));
    EXPECT_THAT(push,
                ElementsAre(round % 2 == 0 ? -0.25f : 0.25f, round % 2 == 0 ? 0.125f : -0.125f, 7));
    for (int i = 0; i < 2; ++i) sum[i] += push[i];
  }
  EXPECT_NEAR(sum[0], exact[0], 1e-5);
  EXPECT_NEAR(sum[1], exact[1], 1e-5);
}

}  // namespace
}  // namespace paceline::worker
