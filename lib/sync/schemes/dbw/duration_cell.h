// Defines DurationCell: the times seen of one cell of the duration table, older ones weighing less.
//
// Ageing alone forgets a slowdown that came between two steps only after many more steps. Two times
// in a row that are far off what was seen before, to the same side, are taken for a change: what
// was seen before is forgotten. Far off is half of the mean and four standard deviations more.
#pragma once

#include <cmath>
#include <optional>

namespace paceline::sync {

class DurationCell {
 public:
  enum class Change { kNone, kRose, kFell };

  // `seconds` are finite and not negative.
  Change Add(double seconds);
  // What is left of the weight of all times; next to nothing is nothing.
  void Age(double factor);
  // Other cells have changed: what is usual here hardly counts from now on.
  void Doubt();
  // The same of all times, the newest included.
  void DoubtAll();

  double count() const { return usual_.count + odd_.count; }  // Aged.
  bool is_empty() const { return count() == 0; }
  double Mean() const { return is_empty() ? 0 : (usual_.sum + odd_.sum) / count(); }

  struct Sums {
    double count = 0;
    double sum = 0;      // Of seconds...
    double squares = 0;  // ...and of their squares.
  };
  const Sums& usual() const { return usual_; }
  const Sums& odd() const { return odd_; }
  // What Save of the table gave; false if it cannot be so.
  bool Restore(const Sums& usual, const Sums& odd);

  std::optional<double> fitted_mean;  // When the last fit began.

 private:
  bool IsFarOff(double seconds) const;

  Sums usual_;
  Sums odd_;  // The newest ones, far off the usual ones, to the same side.
};

}  // namespace paceline::sync
