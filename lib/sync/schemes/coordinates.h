// Defines Coordinates: the point that a scheme is in the space of synchronisation schemes.
//
// Of how many members a push makes a version is the Quorum's to say, how batches are shared the
// BatchSizer's. What can be said of a scheme is derived from these (docs/schemes/README.md):
// - HasRounds: a push belongs to a round, which ends when the quorum is there. Otherwise each push
//   makes a version of its own.
// - IsStrict: who takes part in a round begins it with the others, on its version, and waits for
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/push_kind.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/schemes/late_worker.h"
#include "lib/sync/schemes/modulation/modulation.h"
#include "lib/sync/schemes/staleness_window.h"
#include "lib/sync/schemes/wbsp/wbsp_knobs.h"

namespace paceline::sync {

// What a worker does until its push is answered.
enum class Meanwhile {
  kWait,        // Nothing.
  kLocalSteps,  // Steps on its own copy, until the round ends.
  kEagerPull,   // Steps on what it has, while the answers travel.
};

// How far a commit moves the parameters.
enum class StepScale {
  kMean,   // By a whole step: the mean of what was pushed.
  kShare,  // By the pushes' share of the global batch.
  kFull,   // By a whole step for each push.
};

struct Coordinates {
  // How many versions a push may be behind the newest and still count for the open round; absent:
  // any, and there are no rounds.
  std::optional<uint64_t> reach = 0;
  // Clocks of lead over the slowest.
  StalenessWindow window = StalenessWindow::Unbounded();
  Meanwhile meanwhile = Meanwhile::kWait;
  uint32_t depth = 1;  // kEagerPull: answers that may be under way while a worker computes.
  StepScale step = StepScale::kMean;
  LateWorker news = LateWorker::kOffer;  // What the busy are told of a new version.
  WbspKnobs local;                       // kLocalSteps.
  ModulationOptions modulation;          // kEagerPull: how lateness shrinks a push.
  bool is_deterministic = false;         // The sum of a round is in worker order.

  bool HasRounds() const { return reach.has_value(); }
  bool IsStrict() const { return reach == uint64_t{0} && meanwhile == Meanwhile::kWait; }
  PushKind Kind() const {
    return meanwhile == Meanwhile::kWait ? PushKind::kGradient : PushKind::kDelta;
  }
};

}  // namespace paceline::sync
