// Defines LossScaler: what a loss is multiplied by, so that gradients of its reduced precision do
// not vanish; grown while they do not overflow, as torch.amp.GradScaler does it.
//
// Example:
//   LossScaler scaler;
//   ...  // Backward from loss * scaler.scale(), gradients / scaler.scale().
//   if (scaler.Judge(are_finite) == LossScaler::Verdict::kOverflow) ...  // The step is void.
#pragma once

#include <cstdint>

namespace paceline::learn {

// Pure. Every scale is a power of 2, so that scaling itself rounds nothing.
class LossScaler {
 public:
  static constexpr double kFirst = 65536;
  static constexpr double kGrowth = 2;
  static constexpr double kBackoff = 0.5;
  static constexpr uint32_t kGoodStepsToGrow = 2000;  // In a row.
  // Gradients that overflow without being scaled up are not to be had finite: GradScaler, which
  // goes on below, would give steps up for ever. It is reached after 16 overflows in a row.
  static constexpr double kLeast = 1;
  // A float's exponent has no room for much more.
  static constexpr double kMost = 0x1p126;

  double scale() const { return scale_; }

  enum class Verdict {
    kGood,
    kOverflow,   // The step is to be given up; the scale is lower now.
    kNotFinite,  // Not by scaling: the scale is as before.
  };
  // A step of that scale was made.
  Verdict Judge(bool is_loss_finite, bool are_gradients_finite) {
    if (is_loss_finite && are_gradients_finite) {
      if (++good_steps_ == kGoodStepsToGrow) {
        good_steps_ = 0;
        if (scale_ < kMost) scale_ *= kGrowth;
      }
      return Verdict::kGood;
    }
    good_steps_ = 0;
    // The loss itself was not scaled yet.
    if (!is_loss_finite || scale_ <= kLeast) return Verdict::kNotFinite;
    scale_ *= kBackoff;
    return Verdict::kOverflow;
  }

 private:
  double scale_ = kFirst;
  uint32_t good_steps_ = 0;
};

}  // namespace paceline::learn
