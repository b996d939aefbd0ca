#include "lib/learn/loss_scaler.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_amp_update_scale.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

namespace paceline::learn {
namespace {

using Verdict = LossScaler::Verdict;

// With the operator that torch.amp.GradScaler updates its scale by.
TEST(LossScalerTest, GrowsAndBacksOffAsGradScaler) {
  LossScaler scaler;
  at::Tensor scale = at::full({}, 65536.0, at::kFloat);
  at::Tensor tracker = at::zeros({}, at::kInt);
  int overflows = 0, growths = 0;
  for (int step = 0; step < 60000; ++step) {
    const bool is_finite = step % 3001 != 7 && step % 20011 != 5;
    const double before = scaler.scale();
    ASSERT_EQ(scaler.Judge(true, is_finite), is_finite ? Verdict::kGood : Verdict::kOverflow);
    at::_amp_update_scale_(scale, tracker, at::full({}, is_finite ? 0.0 : 1.0, at::kFloat), 2, 0.5,
                           2000);
    ASSERT_EQ(scaler.scale(), scale.item<double>()) << "step " << step;
    overflows += is_finite ? 0 : 1;
    growths += scaler.scale() > before ? 1 : 0;
  }
  EXPECT_GT(overflows, 20);
  EXPECT_GT(growths, 5);
}

TEST(LossScalerTest, EndsAtItsLeast) {
  LossScaler scaler;
  int overflows = 0;
  while (scaler.Judge(true, false) == Verdict::kOverflow) ++overflows;
  EXPECT_EQ(overflows, 16);
  EXPECT_EQ(scaler.scale(), LossScaler::kLeast);
  EXPECT_EQ(scaler.Judge(true, false), Verdict::kNotFinite);
  EXPECT_EQ(scaler.Judge(true, true), Verdict::kGood);
  for (uint32_t i = 1; i < LossScaler::kGoodStepsToGrow; ++i) scaler.Judge(true, true);
  EXPECT_EQ(scaler.scale(), 2 * LossScaler::kLeast);
}

TEST(LossScalerTest, IsNotToBlameForALossThatIsNotFinite) {
  LossScaler scaler;
  EXPECT_EQ(scaler.Judge(false, false), Verdict::kNotFinite);
  EXPECT_EQ(scaler.Judge(false, true), Verdict::kNotFinite);
  EXPECT_EQ(scaler.scale(), LossScaler::kFirst);
}

TEST(LossScalerTest, StaysWithinFloats) {
  LossScaler scaler;
  for (uint64_t i = 0; i < 130ull * LossScaler::kGoodStepsToGrow; ++i) scaler.Judge(true, true);
  EXPECT_EQ(scaler.scale(), LossScaler::kMost);
}

}  // namespace
}  // namespace paceline::learn
