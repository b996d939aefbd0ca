#include "lib/sync/schemes/dbw/monotone_fit.h"

#include <algorithm>
#include <utility>

namespace paceline::sync {

MonotoneFit::MonotoneFit(size_t rows, size_t columns, std::vector<double> values,
                         std::vector<double> weights, uint32_t sweeps)
    : rows_(rows),
      columns_(columns),
      sweeps_left_(rows > 1 ? sweeps : 1),
      values_(std::move(values)),
      weights_(std::move(weights)),
      row_corrections_(values_.size()),
      column_corrections_(values_.size()) {
  if (values_.empty()) stage_ = Stage::kDone;
}

void MonotoneFit::Advance(uint32_t units) {
  uint64_t cells = uint64_t{units} * kCellsPerUnit;
  while (!is_done()) {
    const bool is_row = stage_ == Stage::kRows || stage_ == Stage::kLastRows;
    const uint64_t cost = is_row ? columns_ : rows_;
    FitLine();
    NextLine();
    if (cells <= cost) return;
    cells -= cost;
  }
}

void MonotoneFit::FitLine() {
  switch (stage_) {
    case Stage::kRows:
      return FitRow(line_);
    case Stage::kColumns:
      return FitColumn(line_, false);
    case Stage::kLastColumns:
      return FitColumn(line_, true);
    case Stage::kLastRows:
      return RaiseAlongRow(line_);
    case Stage::kDone:
      return;
  }
}

void MonotoneFit::NextLine() {
  const bool is_row = stage_ == Stage::kRows || stage_ == Stage::kLastRows;
  if (++line_ < (is_row ? rows_ : columns_)) return;
  line_ = 0;
  if (stage_ == Stage::kRows) {
    stage_ = Stage::kColumns;
  } else if (stage_ == Stage::kColumns) {
    stage_ = --sweeps_left_ > 0 ? Stage::kRows : Stage::kLastColumns;
  } else if (stage_ == Stage::kLastColumns) {
    stage_ = Stage::kLastRows;
  } else {
    stage_ = Stage::kDone;
  }
}

void MonotoneFit::FitRow(size_t row) {
  const size_t begin = row * columns_;
  line_values_.resize(columns_);
  for (size_t i = 0; i < columns_; ++i) {
    line_values_[i] = values_[begin + i] + row_corrections_[begin + i];
    row_corrections_[begin + i] = line_values_[i];
  }
  FitIncreasing(line_values_, std::span(weights_).subspan(begin, columns_), pools_);
  for (size_t i = 0; i < columns_; ++i) {
    row_corrections_[begin + i] -= line_values_[i];
    values_[begin + i] = line_values_[i];
  }
}

// From the last row up, since it decreases downwards.
void MonotoneFit::FitColumn(size_t column, bool is_last) {
  line_values_.resize(rows_);
  line_weights_.resize(rows_);
  const auto at = [&](size_t i) { return (rows_ - 1 - i) * columns_ + column; };
  for (size_t i = 0; i < rows_; ++i) {
    line_values_[i] = values_[at(i)] + (is_last ? 0 : column_corrections_[at(i)]);
    line_weights_[i] = weights_[at(i)];
    column_corrections_[at(i)] = line_values_[i];
  }
  FitIncreasing(line_values_, line_weights_, pools_);
  for (size_t i = 0; i < rows_; ++i) {
    column_corrections_[at(i)] -= line_values_[i];
    values_[at(i)] = line_values_[i];
  }
}

// Cells of tiny weight converge slowly. The largest so far keeps what holds between rows: of each
// two it takes the same cells.
void MonotoneFit::RaiseAlongRow(size_t row) {
  const auto begin = values_.begin() + static_cast<std::ptrdiff_t>(row * columns_);
  for (auto cell = begin + 1; cell < begin + static_cast<std::ptrdiff_t>(columns_); ++cell)
    *cell = std::max(*cell, *(cell - 1));
}

}  // namespace paceline::sync
