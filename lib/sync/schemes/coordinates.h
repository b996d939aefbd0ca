// Defines Coordinates: the point that a scheme is in the space of synchronisation schemes.
//
// How batches are shared is the BatchSizer's to say. What can be said of a scheme is derived from
// these (docs/schemes/README.md):
// - HasRounds: several pushes make a version together. Otherwise each push makes its own.
// - IsStrict: who takes part in a round begins it with the others, on its version, and waits for
// it.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/push_kind.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/schemes/late_worker.h"
#include "lib/sync/schemes/meanwhile.h"
#include "lib/sync/schemes/modulation/modulation.h"
#include "lib/sync/schemes/parts.h"
#include "lib/sync/schemes/staleness_window.h"
#include "lib/sync/schemes/wbsp/wbsp_knobs.h"

namespace paceline::sync {

// What a quorum counts.
enum class Counted {
  kMembers,  // Each once, however many pushes of it came.
  kPushes,
};

// How far a commit moves the parameters.
enum class StepScale {
  kMean,   // By a whole step: the mean of what was pushed.
  kShare,  // By the pushes' share of the global batch.
  kFull,   // By a whole step for each push.
};

struct Coordinates {
  QuorumChoice quorum;
  Counted counted = Counted::kMembers;
  // How many versions a push may be behind the newest and still count for the open round; absent:
  // any.
  std::optional<uint64_t> reach = 0;
  // Clocks of lead over the slowest. Only where the reach is absent.
  StalenessWindow window = StalenessWindow::Unbounded();
  Meanwhile meanwhile = Meanwhile::kWait;
  uint32_t depth = 1;  // kEagerPull: own pushes that the version of a step may lack.
  StepScale step = StepScale::kMean;
  LateWorker news = LateWorker::kOffer;  // What the busy are told of a new version.
  WbspKnobs local;                       // kLocalSteps.
  // How lateness shrinks a push: of a delta before it is sent, of a gradient as it comes.
  ModulationOptions modulation{.rule = Modulation::kNone};
  std::optional<OuterStep> outer;  // kLocalSteps: how their mean moves the model.
  bool is_deterministic = false;   // The sum of a round is in worker order.

  bool IsOneByOne() const {
    return quorum.rule == QuorumChoice::Rule::kCount && quorum.count == 1 && !reach;
  }
  bool HasRounds() const { return !IsOneByOne(); }
  bool IsStrict() const { return reach == uint64_t{0} && meanwhile == Meanwhile::kWait; }
  bool IsLocal() const { return meanwhile == Meanwhile::kLocalSteps; }
  PushKind Kind() const { return PushKindOf(WaysOn()); }
  // How workers go on after a push. What differs in this cannot change under their feet.
  Pacing WaysOn() const {
    switch (meanwhile) {
      case Meanwhile::kWait:
      case Meanwhile::kGoOn:
        return Pacing::kWait;
      case Meanwhile::kLocalSteps:
        return local.is_overlapped ? Pacing::kOverlapped : Pacing::kKeepGoing;
      case Meanwhile::kEagerPull:
        return Pacing::kEagerPull;
    }
    return Pacing::kWait;
  }
};

}  // namespace paceline::sync
