// Defines MonotoneFit: the table nearest to the one given that never decreases along a row and
// never increases down a column.
//
// Nearest in weighted least squares, by Dykstra's alternating projection on the rows' and the
// columns' cones. Work is done in portions and counted, so that it fits between other things.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/sync/schemes/dbw/isotonic.h"

namespace paceline::sync {

class MonotoneFit {
 public:
  static constexpr uint32_t kCellsPerUnit = 256;  // Of work; about a microsecond or two.
  static constexpr uint32_t kSweeps = 30;

  // `values` and `weights` by rows, rows x columns of them; weights are positive.
  MonotoneFit(size_t rows, size_t columns, std::vector<double> values, std::vector<double> weights,
              uint32_t sweeps = kSweeps);

  // Works for `units` at most, but always on one row or column at least.
  void Advance(uint32_t units);
  bool is_done() const { return stage_ == Stage::kDone; }

  // Done: rows never decrease, columns never increase, both exactly.
  const std::vector<double>& values() const { return values_; }

 private:
  enum class Stage { kRows, kColumns, kLastColumns, kLastRows, kDone };

  void FitLine();
  void NextLine();
  void FitRow(size_t row);
  void FitColumn(size_t column, bool is_last);
  void RaiseAlongRow(size_t row);

  size_t rows_;
  size_t columns_;
  uint32_t sweeps_left_;
  Stage stage_ = Stage::kRows;
  size_t line_ = 0;  // The row or column that is next.
  std::vector<double> values_;
  std::vector<double> weights_;
  std::vector<double> row_corrections_;     // What projecting on the rows' cone took away last...
  std::vector<double> column_corrections_;  // ...and on the columns'.
  std::vector<double> line_values_;
  std::vector<double> line_weights_;
  std::vector<Pool> pools_;
};

}  // namespace paceline::sync
