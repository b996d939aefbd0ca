#include "lib/sync/schemes/dbw/duration_cell.h"

#include <algorithm>
#include <utility>

namespace paceline::sync {
namespace {

constexpr double kUsualMin = 4;      // Times that make something usual.
constexpr double kOddMost = 2;       // In a row: a change.
constexpr double kDoubted = 0.1;     // Times that what is doubted still counts for, all told.
constexpr double kForgotten = 1e-3;  // Times below which a cell counts as unseen.

void AddTo(DurationCell::Sums& sums, double seconds) {
  sums.count += 1;
  sums.sum += seconds;
  sums.squares += seconds * seconds;
}

DurationCell::Sums Joined(const DurationCell::Sums& a, const DurationCell::Sums& b) {
  return {a.count + b.count, a.sum + b.sum, a.squares + b.squares};
}

bool IsSound(const DurationCell::Sums& sums) {
  return std::isfinite(sums.count) && sums.count >= 0 && std::isfinite(sums.sum) && sums.sum >= 0 &&
         std::isfinite(sums.squares) && sums.squares >= 0;
}

}  // namespace

DurationCell::Change DurationCell::Add(double seconds) {
  if (!IsFarOff(seconds)) {
    usual_ = Joined(usual_, odd_);
    odd_ = {};
    AddTo(usual_, seconds);
    return Change::kNone;
  }
  const double usual = usual_.sum / usual_.count;
  const bool rises = seconds > usual;
  if (odd_.count > 0 && (odd_.sum / odd_.count > usual) != rises) {
    usual_ = Joined(usual_, odd_);
    odd_ = {};
  }
  AddTo(odd_, seconds);
  if (odd_.count < kOddMost) return Change::kNone;
  usual_ = odd_;
  odd_ = {};
  return rises ? Change::kRose : Change::kFell;
}

bool DurationCell::IsFarOff(double seconds) const {
  if (usual_.count < kUsualMin) return false;
  const double mean = usual_.sum / usual_.count;
  const double deviation = std::sqrt(std::max(usual_.squares / usual_.count - mean * mean, 0.0));
  return std::abs(seconds - mean) > mean / 2 + 4 * deviation;
}

void DurationCell::Age(double factor) {
  for (Sums* sums : {&usual_, &odd_}) {
    sums->count *= factor;
    sums->sum *= factor;
    sums->squares *= factor;
  }
  if (count() < kForgotten) *this = DurationCell{};
}

void DurationCell::Doubt() {
  const Sums odd = std::exchange(odd_, {});
  if (usual_.count > kDoubted) Age(kDoubted / usual_.count);
  odd_ = odd;
}

void DurationCell::DoubtAll() {
  usual_ = Joined(usual_, std::exchange(odd_, {}));
  Doubt();
}

bool DurationCell::Restore(const Sums& usual, const Sums& odd) {
  usual_ = usual;
  odd_ = odd;
  return IsSound(usual) && IsSound(odd) && count() > 0;
}

}  // namespace paceline::sync
