// Defines SavedPair: what two controllers of one policy learnt, as one text.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace paceline::sync {

struct SavedPair {
  std::string first;
  std::string second;
};

// Empty if both are.
std::string JoinSaved(const std::string& first, const std::string& second);

// DataLoss if it is nothing that JoinSaved gave.
StatusOr<SavedPair> SplitSaved(std::string_view saved);

}  // namespace paceline::sync
