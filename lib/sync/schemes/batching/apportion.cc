#include "lib/sync/schemes/batching/apportion.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "lib/base/check.h"

namespace paceline::sync {
namespace {

uint64_t SumOf(std::span<const Bounds> bounds, uint32_t Bounds::*end) {
  uint64_t sum = 0;
  for (const Bounds& one : bounds) sum += one.*end;
  return sum;
}

// Fair parts with those beyond a bound held at it (Bitran and Hax 1981): each pass holds the side
// that is further out, which its final parts cannot come back from.
std::vector<double> FairParts(std::span<const double> weights, uint64_t total,
                              std::span<const Bounds> bounds) {
  const size_t count = weights.size();
  const bool is_weightless =
      std::all_of(weights.begin(), weights.end(), [](double weight) { return weight <= 0; });
  const auto weight = [&](size_t i) { return is_weightless ? 1.0 : weights[i]; };
  std::vector<double> parts(count);
  std::vector<size_t> open(count);
  std::iota(open.begin(), open.end(), size_t{0});
  double left = static_cast<double>(total);
  while (!open.empty()) {
    double sum = 0, beyond_hi = 0, below_lo = 0;
    for (const size_t i : open) sum += weight(i);
    for (const size_t i : open) {
      // Only weightless ones are left: they share what there is.
      parts[i] = sum > 0 ? left * weight(i) / sum : left / static_cast<double>(open.size());
      beyond_hi += std::max(0.0, parts[i] - bounds[i].hi);
      below_lo += std::max(0.0, bounds[i].lo - parts[i]);
    }
    if (beyond_hi <= 0 && below_lo <= 0) break;
    const bool holds_hi = beyond_hi >= below_lo;
    std::erase_if(open, [&](size_t i) {
      const bool is_out = holds_hi ? parts[i] >= bounds[i].hi : parts[i] <= bounds[i].lo;
      if (!is_out) return false;
      parts[i] = holds_hi ? bounds[i].hi : bounds[i].lo;
      left -= parts[i];
      return true;
    });
  }
  return parts;
}

// Gives `missing` samples, each to whoever has it done first; among equals to the first. What is
// missing then, since nobody who has a weight may have more.
int64_t GiveToFirstDone(std::span<const double> weights, std::span<const Bounds> bounds,
                        int64_t missing, std::span<uint32_t> parts) {
  using Done = std::pair<double, size_t>;
  std::priority_queue<Done, std::vector<Done>, std::greater<>> next;
  const auto add = [&](size_t i) {
    if (weights[i] > 0 && parts[i] < bounds[i].hi) next.push({(parts[i] + 1) / weights[i], i});
  };
  for (size_t i = 0; i < parts.size(); ++i) add(i);
  for (; missing > 0 && !next.empty(); --missing) {
    const size_t i = next.top().second;
    next.pop();
    ++parts[i];
    add(i);
  }
  return missing;
}

// Gives or takes what is missing, one each, largest remainders first.
void GiveToLargestRemainders(std::span<const double> fair, std::span<const Bounds> bounds,
                             int64_t missing, std::span<uint32_t> parts) {
  std::vector<size_t> order(fair.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto has_more = [&](size_t a, size_t b) {
    const double rest_a = fair[a] - parts[a], rest_b = fair[b] - parts[b];
    return rest_a != rest_b ? rest_a > rest_b : a < b;
  };
  // Those who get one are below their bounds.
  if (missing > 0 && missing < static_cast<int64_t>(order.size())) {
    std::nth_element(order.begin(), order.begin() + missing, order.end(), has_more);
    for (auto i = order.begin(), end = order.begin() + missing; i != end; ++i) {
      if (parts[*i] < bounds[*i].hi) ++parts[*i], --missing;
    }
  }
  // What rounding in the fair parts has left over.
  if (missing != 0) std::sort(order.begin(), order.end(), has_more);
  while (missing > 0) {
    for (auto i = order.begin(); i != order.end() && missing > 0; ++i) {
      if (parts[*i] < bounds[*i].hi) ++parts[*i], --missing;
    }
  }
  while (missing < 0) {
    for (auto i = order.rbegin(); i != order.rend() && missing < 0; ++i) {
      if (parts[*i] > bounds[*i].lo) --parts[*i], ++missing;
    }
  }
}

}  // namespace

uint64_t FitTotal(uint64_t total, std::span<Bounds> bounds) {
  if (SumOf(bounds, &Bounds::lo) > total) {
    const uint64_t equal = std::max<uint64_t>(1, total / bounds.size());
    for (Bounds& one : bounds) one.lo = std::min<uint32_t>(one.lo, static_cast<uint32_t>(equal));
  }
  return std::clamp(total, SumOf(bounds, &Bounds::lo), SumOf(bounds, &Bounds::hi));
}

std::vector<uint32_t> Apportion(std::span<const double> weights, uint64_t total,
                                std::span<const Bounds> bounds, Leftovers leftovers) {
  PACELINE_CHECK(weights.size() == bounds.size(), "{} weights, {} bounds", weights.size(),
                 bounds.size());
  PACELINE_CHECK(SumOf(bounds, &Bounds::lo) <= total && total <= SumOf(bounds, &Bounds::hi),
                 "{} is out of bounds", total);
  const std::vector<double> fair = FairParts(weights, total, bounds);
  std::vector<uint32_t> parts(fair.size());
  int64_t missing = static_cast<int64_t>(total);
  for (size_t i = 0; i < fair.size(); ++i) {
    const double whole = std::floor(fair[i]);
    parts[i] = static_cast<uint32_t>(std::clamp<double>(whole, bounds[i].lo, bounds[i].hi));
    missing -= parts[i];
  }
  if (leftovers == Leftovers::kFirstDone)
    missing = GiveToFirstDone(weights, bounds, missing, parts);
  GiveToLargestRemainders(fair, bounds, missing, parts);
  return parts;
}

}  // namespace paceline::sync
