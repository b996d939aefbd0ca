// Defines MeasuredCurve: what steps of a worker took, by their size, and the curve that this makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/sync/schemes/batching/curve_fit.h"

namespace paceline::sync {

// Bounded: a few sizes, of which near ones are one; the newer ones count more. A time that no
// device could show which showed the others means that it is another device, or is shared with
// somebody else now: what was known is forgotten.
class MeasuredCurve {
 public:
  static constexpr size_t kSizesMax = 12;

  // So many steps of `samples` took `seconds` in the mean; all positive.
  void Add(uint32_t samples, double seconds, uint32_t steps);

  bool is_known() const { return !sizes_.empty(); }
  // Needs is_known(). Through `seconds` at `samples`, if both are given: the shape is of all that
  // is known, the level of what is newest.
  TimeCurve Fit() const { return FitCurve(sizes_); }
  TimeCurve FitThrough(uint32_t samples, double seconds) const;
  // Half of `samples` would take about as long, by sizes that are far enough apart to tell.
  bool IsFlatAt(uint32_t samples) const;

  // Ascending.
  const std::vector<TimedSize>& sizes() const { return sizes_; }
  // The whole state; empty if nothing is known.
  std::string DebugString() const;
  // As sizes() gave them.
  void Restore(std::vector<TimedSize> sizes) { sizes_ = std::move(sizes); }

 private:
  std::vector<TimedSize> sizes_;
};

}  // namespace paceline::sync
