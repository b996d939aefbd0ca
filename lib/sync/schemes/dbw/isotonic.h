// Defines FitIncreasing: the sequence that never decreases and lies nearest to the one given.
//
// Nearest in weighted least squares: pool adjacent violators (Barlow et al. 1972).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace paceline::sync {

// Runs of equal values that pooling has made so far; kept by the caller, so that no call allocates.
struct Pool {
  double mean = 0;
  double weight = 0;
  size_t count = 0;
};

// In place. `weights` are positive and as many as `values`. O(n).
inline void FitIncreasing(std::span<double> values, std::span<const double> weights,
                          std::vector<Pool>& pools) {
  pools.clear();
  for (size_t i = 0; i < values.size(); ++i) {
    pools.push_back({values[i], weights[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean >= pools.back().mean) {
      const Pool last = pools.back();
      pools.pop_back();
      Pool& into = pools.back();
      const double weight = into.weight + last.weight;
      into.mean += (last.mean - into.mean) * (last.weight / weight);
      into.weight = weight;
      into.count += last.count;
    }
  }
  size_t i = 0;
  for (const Pool& pool : pools) {
    for (size_t end = i + pool.count; i < end; ++i) values[i] = pool.mean;
  }
}

}  // namespace paceline::sync
