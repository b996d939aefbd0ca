// Defines Round: the pushes that are to make the next version.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/base/ids.h"

namespace paceline::sync {

struct Round {
  // A push that is accumulated when the round closes, so that the sum is in worker order.
  struct Staged {
    WorkerId worker;
    Sequence sequence;
    double weight = 0;
    uint32_t samples = 0;
  };

  uint32_t pushes = 0;
  uint32_t distinct = 0;  // Members, gone ones included, that they are of.
  double samples = 0;
  bool is_out_of_time = false;         // It ends without those who have not pushed.
  uint32_t members = 1;                // n of the weights of deltas: who took part when it began...
  double mean_steps = 0;               // ...and the mean of their mean local steps; 0: none yet.
  std::vector<WorkerId> contributors;  // Ids, of whom some may be gone.
  std::vector<Staged> staged;
};

}  // namespace paceline::sync
