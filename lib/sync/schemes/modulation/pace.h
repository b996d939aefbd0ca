// Defines Pace: how fast each worker went of late, compared with the fastest.
//
// A gap in steps since the beginning would grow without bound behind a worker that is always slow,
// and silence it in the end; so steps are counted over a window that moves on.
#pragma once

#include <cstdint>
#include <map>

#include "lib/base/ids.h"

namespace paceline::sync {

// A value.
class Pace {
 public:
  // A window lasts this many steps for each worker that takes part in it, all workers together.
  static constexpr uint64_t kStepsAWorker = 8;

  void Join(WorkerId worker);
  void Leave(WorkerId worker);
  void Step(WorkerId worker);

  // Its steps in this window and the one before, over the most of any worker: 0..1. 1 for who was
  // not there for the whole of them, of whom nothing is known yet.
  double Of(WorkerId worker) const;

 private:
  struct Counts {
    uint64_t before = 0;
    uint64_t now = 0;
    uint32_t windows = 0;  // Whole ones that it was there for; no more than 2 are told apart.
  };

  void FindMost();

  std::map<WorkerId, Counts> counts_;
  uint64_t steps_ = 0;  // In this window.
  uint64_t most_ = 0;   // Of any worker in this one and the one before.
};

}  // namespace paceline::sync
