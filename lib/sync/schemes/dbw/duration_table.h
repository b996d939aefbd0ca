// Defines DurationTable: how long a step takes until its k-th push, learnt from what was seen.
//
// T(h, k) is the expected time from the beginning of a step to its k-th push if the step before
// waited for h: the smaller h, the more workers are still busy when the step begins. Only the first
// k times of a step are seen (the others are censored), so cells fill unevenly; a constrained least
// squares fit over all samples (Xu, Neglia, Sebastianelli 2020) makes up for it:
//   T(h, k) <= T(h, k+1)  waiting for more takes longer,
//   T(h, k) >= T(h+1, k)  a larger h leaves fewer workers busy.
// Unseen cells take their column's mean, which is optimistic: it invites trying.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/sync/schemes/dbw/duration_cell.h"
#include "lib/sync/schemes/dbw/monotone_fit.h"
#include "lib/sync/schemes/estimates/rank_grid.h"

namespace paceline::sync {

class DurationTable {
 public:
  struct Options {
    bool depends_on_last = true;  // On h. Not so if late workers are interrupted: one row then.
    uint32_t refit_steps = 5;     // Steps between two fits; sooner if a mean has moved by 5 %.
    double aging = 0.98;          // What refit_steps leave of the weight of older samples.
  };

  explicit DurationTable(const Options& options) : options_(options) {}

  // From now on k and h reach to `workers`, at least 1. New rows and columns are as their
  // neighbours, until seen.
  void Resize(uint32_t workers);

  // The `rank`th push of a step came after `seconds`; the step before waited for `h`.
  void Add(uint32_t h, uint32_t rank, double seconds);
  // What was seen so far hardly counts from now on.
  void DoubtAll();
  void StepClosed() { ++steps_since_aging_; }

  bool WantsFit() const { return !grid_is_empty() && (fit_.has_value() || IsFitDue()); }
  // Works on the fit for at most `units`; a fit that is done takes the place of the one before.
  void WorkOnFit(uint32_t units);

  // Whether a fit was ever done.
  bool is_known() const { return is_known_; }
  // Seconds, positive, of the fit that was done last. Needs is_known().
  double Seconds(uint32_t h, uint32_t k) const;
  const RankGrid& grid() const { return grid_; }

  // Lines of text; Restore takes what Save of equal options gave.
  std::string Save() const;
  Status Restore(std::string_view line);  // One line; fits anew once asked to.

 private:
  bool grid_is_empty() const { return grid_.cells() == 0; }
  bool IsFitDue() const { return has_moved_ || steps_since_aging_ >= options_.refit_steps; }
  uint32_t rows() const { return options_.depends_on_last ? grid_.cells() : 1; }
  size_t At(uint32_t h, uint32_t k) const;
  void BeginFit();
  void Doubt(uint32_t column, DurationCell::Change change);

  Options options_;
  RankGrid grid_;
  std::vector<DurationCell> cells_;  // By rows.
  std::vector<double> fitted_;       // Seconds, by rows.
  std::optional<MonotoneFit> fit_;
  uint32_t steps_since_aging_ = 0;
  bool has_moved_ = false;  // Some mean, since the last fit began.
  bool is_known_ = false;
};

}  // namespace paceline::sync
