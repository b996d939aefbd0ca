// Defines RecoveryState: what the coordinator remembers of losses and faults from one generation to
// the next.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/ids.h"
#include "lib/base/version.h"
#include "lib/coordination/checkpoint.h"
#include "lib/coordination/coordinator.h"
#include "lib/coordination/ledgers/lease_ledger.h"

namespace paceline::coordination {

// What outlives a generation.
struct RecoveryState {
  uint64_t roll_backs = 0;
  uint32_t in_vain = 0;  // Roll backs since training last came further than ever before.
  Version furthest;
  std::string last;
  Setback lost;                    // By all of them...
  Setback last_lost;               // ...and by the last one.
  Version last_from;               // The newest version before the last roll back...
  Version last_to;                 // ...and after it; 0: begun anew.
  std::optional<Checkpoint> from;  // What this generation began with.
  // Why the only checkpoint cannot be restored, while another is being completed: that one may have
  // taken its place on the disk by now.
  std::string unrestored;
  Damping damping;
  // Roll backs for gradients that were not finite, in a row...
  uint32_t non_finite_in_a_row = 0;
  Version non_finite_at;  // ...of which the last one came at this version...
  Version non_finite_to;  // ...and went back to that.
  // By seat; with how often that happened. No index is banned for good.
  std::map<WorkerId, Quarantine> quarantines;
  std::map<WorkerId, uint64_t> expulsions;
  std::vector<PoisonedSample> poisoned;
  // Failures before the first step of their processes: by cause, the epoch whose samples they were
  // on (poisoning.h).
  std::map<std::string, uint64_t> early_failures;
  std::optional<std::string>
      stop;  // A stop was asked for, and a shard was lost before it was done.
  std::optional<std::string> evaluator_gone;  // Nobody starts it again: why.
  std::string target_unknown;                 // Why evaluations have no number for the target...
  std::string measure_unknown;  // ...or for what makes one version better than another.
};

}  // namespace paceline::coordination
