#include "lib/sync/schemes/dbw/duration_table.h"

#include <algorithm>
#include <cmath>

#include "lib/sync/trace/fields.h"

namespace paceline::sync {
namespace {

constexpr double kMoved = 0.05;         // Share of a mean that makes a fit due.
constexpr double kUnseenWeight = 1e-6;  // Of a cell without samples, against 1 a sample.
constexpr double kSecondsMin = 1e-9;    // Rates are per second; no time is none.

}  // namespace

size_t DurationTable::At(uint32_t h, uint32_t k) const {
  const uint32_t row = options_.depends_on_last ? grid_.CellOf(h) : 0;
  return size_t{row} * grid_.cells() + grid_.CellOf(k);
}

void DurationTable::Resize(uint32_t workers) {
  const RankGrid grid(std::max<uint32_t>(workers, 1));
  if (grid == grid_) return;
  const uint32_t old_columns = grid_.cells(), old_rows = rows();
  grid_ = grid;
  const uint32_t columns = grid_.cells(), new_rows = rows();
  if (columns == old_columns) return;  // Many workers: cells are shares of them.
  std::vector<DurationCell> cells(size_t{new_rows} * columns);
  std::vector<double> fitted(cells.size());
  for (uint32_t row = 0; row < new_rows && old_rows > 0; ++row) {
    for (uint32_t column = 0; column < columns && old_columns > 0; ++column) {
      const size_t to = size_t{row} * columns + column;
      const size_t from =
          size_t{std::min(row, old_rows - 1)} * old_columns + std::min(column, old_columns - 1);
      fitted[to] = fitted_[from];
      if (row < old_rows && column < old_columns) cells[to] = cells_[from];
    }
  }
  cells_ = std::move(cells);
  fitted_ = std::move(fitted);
  fit_.reset();
  has_moved_ = is_known_;
}

void DurationTable::Add(uint32_t h, uint32_t rank, double seconds) {
  if (grid_is_empty() || rank == 0 || rank > grid_.ranks() || !grid_.IsLast(rank)) return;
  DurationCell& cell = cells_[At(h, rank)];
  const DurationCell::Change change = cell.Add(seconds);
  if (change != DurationCell::Change::kNone) {
    const DurationCell kept = cell;
    Doubt(grid_.CellOf(rank), change);
    cell = kept;
  }
  const double mean = cell.Mean();
  if (!cell.fitted_mean || std::abs(mean - *cell.fitted_mean) > kMoved * *cell.fitted_mean)
    has_moved_ = true;
}

// Whoever comes after somebody who has become late is late too, whatever the step before waited
// for; likewise whoever comes before somebody who has become early.
void DurationTable::Doubt(uint32_t column, DurationCell::Change change) {
  const bool rose = change == DurationCell::Change::kRose;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const size_t other = i % grid_.cells();
    if (rose ? other >= column : other <= column) cells_[i].Doubt();
  }
}

void DurationTable::DoubtAll() {
  for (DurationCell& cell : cells_) cell.DoubtAll();
}

void DurationTable::WorkOnFit(uint32_t units) {
  if (!WantsFit()) return;
  if (!fit_) BeginFit();
  fit_->Advance(units);
  if (!fit_->is_done()) return;
  fitted_ = fit_->values();
  is_known_ = true;
  fit_.reset();
}

void DurationTable::BeginFit() {
  if (steps_since_aging_ >= options_.refit_steps) {
    for (DurationCell& cell : cells_) cell.Age(options_.aging);
    steps_since_aging_ = 0;
  }
  has_moved_ = false;
  const uint32_t columns = grid_.cells();
  struct Seen {
    double sum = 0, count = 0;
  };
  std::vector<Seen> of_columns(columns);
  Seen all;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const double count = cells_[i].count(), sum = cells_[i].Mean() * count;
    of_columns[i % columns].sum += sum;
    of_columns[i % columns].count += count;
    all.sum += sum;
    all.count += count;
  }
  const double mean_of_all = all.count > 0 ? all.sum / all.count : 0;
  std::vector<double> values(cells_.size()), weights(cells_.size(), kUnseenWeight);
  for (size_t i = 0; i < cells_.size(); ++i) {
    DurationCell& cell = cells_[i];
    const Seen& of_column = of_columns[i % columns];
    if (!cell.is_empty()) {
      values[i] = cell.Mean();
      weights[i] = cell.count();
      cell.fitted_mean = values[i];
    } else {
      values[i] = of_column.count > 0 ? of_column.sum / of_column.count : mean_of_all;
    }
  }
  fit_.emplace(rows(), columns, std::move(values), std::move(weights));
}

double DurationTable::Seconds(uint32_t h, uint32_t k) const {
  return std::max(fitted_[At(h, k)], kSecondsMin);
}

std::string DurationTable::Save() const {
  FieldWriter head("durations");
  head.Add("workers", grid_.ranks()).AddUnless(0u, "steps", steps_since_aging_);
  std::string text = head.Take() + "\n";
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (cells_[i].is_empty()) continue;
    const DurationCell::Sums &usual = cells_[i].usual(), &odd = cells_[i].odd();
    FieldWriter line("duration");
    line.Add("cell", i)
        .Add("sum", usual.sum)
        .Add("count", usual.count)
        .Add("squares", usual.squares)
        .AddUnless(0.0, "odd-sum", odd.sum)
        .AddUnless(0.0, "odd-count", odd.count)
        .AddUnless(0.0, "odd-squares", odd.squares);
    text += line.Take() + "\n";
  }
  return text;
}

Status DurationTable::Restore(std::string_view line) {
  Fields fields(line);
  if (fields.Next<std::string>("kind") == "durations") {
    Resize(fields.Require<uint32_t>("workers"));
    fields.Take("steps", steps_since_aging_);
    return fields.Finish();
  }
  const auto at = fields.Require<size_t>("cell");
  DurationCell::Sums usual, odd;
  usual.sum = fields.Require<double>("sum");
  usual.count = fields.Require<double>("count");
  // Of a save before there were squares: as if all had been equal.
  usual.squares = usual.count > 0 ? usual.sum * usual.sum / usual.count : 0;
  fields.Take("squares", usual.squares);
  fields.Take("odd-sum", odd.sum);
  fields.Take("odd-count", odd.count);
  fields.Take("odd-squares", odd.squares);
  PACELINE_RETURN_IF_ERROR(fields.Finish());
  DurationCell cell;
  if (at >= cells_.size() || !cell.Restore(usual, odd))
    return DataLoss("saved duration is of no cell, or not positive: {}", line);
  cells_[at] = cell;
  has_moved_ = true;
  return OkStatus();
}

}  // namespace paceline::sync
