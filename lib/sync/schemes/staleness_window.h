// Defines StalenessWindow: how many clocks a worker may be ahead of the slowest (Ho et al. 2013).
#pragma once

#include <cstdint>
#include <optional>

namespace paceline::sync {

class StalenessWindow {
 public:
  explicit constexpr StalenessWindow(uint64_t width) : width_(width) {}
  static constexpr StalenessWindow Unbounded() { return StalenessWindow(); }

  constexpr bool is_unbounded() const { return !width_; }

  // Whether a worker that has finished `clock` steps may begin the next one while the slowest has
  // finished `slowest`.
  constexpr bool Admits(uint64_t clock, uint64_t slowest) const {
    return !width_ || clock <= slowest || clock - slowest <= *width_;
  }

 private:
  constexpr StalenessWindow() = default;

  std::optional<uint64_t> width_;
};

}  // namespace paceline::sync
