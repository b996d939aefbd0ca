// Defines RankGrid: ranks 1..n of a step's arrivals, in at most kCellsMax cells of neighbours.
//
// Each cell stands for its last rank. Up to kCellsMax workers each rank has a cell of its own;
// beyond, k is chosen among the cells' last ranks, and tables stay small.
#pragma once

#include <algorithm>
#include <cstdint>

namespace paceline::sync {

class RankGrid {
 public:
  static constexpr uint32_t kCellsMax = 64;

  explicit RankGrid(uint32_t ranks = 0) : ranks_(ranks), cells_(std::min(ranks, kCellsMax)) {}

  uint32_t ranks() const { return ranks_; }
  uint32_t cells() const { return cells_; }

  // Of the `cell`th, from 0.
  uint32_t LastRank(uint32_t cell) const {
    return static_cast<uint32_t>(uint64_t{cell + 1} * ranks_ / cells_);
  }

  // The first cell whose last rank is not below; the last cell for ranks beyond the end.
  uint32_t CellOf(uint32_t rank) const {
    const uint64_t wanted = std::clamp<uint32_t>(rank, 1, ranks_);
    return static_cast<uint32_t>((wanted * cells_ + ranks_ - 1) / ranks_) - 1;
  }

  bool IsLast(uint32_t rank) const { return LastRank(CellOf(rank)) == rank; }

  friend bool operator==(const RankGrid&, const RankGrid&) = default;

 private:
  uint32_t ranks_;
  uint32_t cells_;
};

}  // namespace paceline::sync
