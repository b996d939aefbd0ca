// Defines QuorumField: of how many workers' pushes a version is made, as a manifest says it: All,
// DBW or a number.
#pragma once

#include <cstdint>

#include "lib/job/manifest/enums.h"

namespace paceline::job {

struct QuorumField {
  std::optional<QuorumWord> word;
  int64_t workers = 1;  // Without a word.
  friend bool operator==(const QuorumField&, const QuorumField&) = default;
};

}  // namespace paceline::job
