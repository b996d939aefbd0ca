// Defines SavedSizing: what a checkpoint holds of batch sizing, whichever strategy learnt it.
//
// A strategy takes the lines that it can use, and hands the others on: when a job changes to
// another one and back, nothing has to be learnt again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/sync/schemes/batching/curve_fit.h"

namespace paceline::sync {

// Whole lines, their ends included.
struct SavedSizing {
  std::string speeds;  // "speed w0 ...": EMA, NARX (learnt_speed.h).
  std::string curves;  // "curve w0 ...": Stepwise.
  std::string limits;  // "limit w0 ...": all that know of memory (limits.h).
};

// DataLoss if a line is none of these; what is in them is not looked at.
StatusOr<SavedSizing> SortSaved(std::string_view saved);

// The same less what was learnt of the memory of workers that do not stay; empty if it cannot be
// read.
std::string WithLimitsOf(std::string_view saved, const std::function<bool(WorkerId)>& stays);

struct LearntCurve {
  WorkerId worker;
  std::vector<TimedSize> sizes;
};

// Without its end; numbers read back bit for bit.
std::string FormatLearntCurve(WorkerId worker, const std::vector<TimedSize>& sizes);

// DataLoss naming what is wrong.
StatusOr<LearntCurve> ParseLearntCurve(std::string_view line);

// Takes the first line off `text`, which is not empty; without its end.
std::string_view TakeLine(std::string_view& text);

}  // namespace paceline::sync
