// Defines TraceTable: recorded delays, one row a step and one column a worker.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace paceline::chaos {

// A value, immutable.
class TraceTable {
 public:
  // Comma-separated seconds, all rows as long as the first; empty lines and those beginning with
  // '#' say nothing. InvalidArgument, naming line and text, for anything else, for negative or huge
  // numbers (above 3600), and for a file without rows.
  static StatusOr<TraceTable> Parse(std::string_view csv);

  // Starts over at the end of either: a short recording serves a long job, and a narrow one many
  // workers.
  double Seconds(uint64_t step, uint64_t worker) const {
    return seconds_[step % rows() * columns_ + worker % columns_];
  }
  uint64_t rows() const { return seconds_.size() / columns_; }
  uint64_t columns() const { return columns_; }

 private:
  TraceTable(std::vector<double> seconds, uint64_t columns)
      : seconds_(std::move(seconds)), columns_(columns) {}

  std::vector<double> seconds_;  // Row by row.
  uint64_t columns_;
};

}  // namespace paceline::chaos
