// Defines EqualShare: a batch over workers, the remainder one sample each to the first of them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace paceline::sync {

// Samples of the `index`th of `count` workers, of `total`; at least 1, so that the shares add up to
// `total` only if it is not smaller than `count`.
constexpr uint32_t EqualShare(uint32_t total, uint32_t count, uint32_t index) {
  return std::max<uint32_t>(1, total / count + (index < total % count ? 1 : 0));
}

}  // namespace paceline::sync
