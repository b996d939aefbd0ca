// Defines EngineState, all that the engine remembers, and Turn, one Observe's view of it.
//
// Inside lib/sync/schemes/engine and its meanwhiles only. What the engine does are free functions
// over a Turn, one file for each part of a step's life.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/base/version.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/roster/roster.h"
#include "lib/sync/roster/round.h"
#include "lib/sync/schemes/batching/batch_sizer.h"
#include "lib/sync/schemes/cloned.h"
#include "lib/sync/schemes/coordinates.h"
#include "lib/sync/schemes/modulation/pace.h"
#include "lib/sync/schemes/policy_spec.h"
#include "lib/sync/schemes/quorum.h"

namespace paceline::sync {

enum class EnginePhase { kOpening, kRunning, kOver };

// Of local steps, for people.
struct LocalSeen {
  Time round_began{};
  double last_round_seconds = 0;
  uint64_t rounds = 0;
  uint64_t late_pushes = 0;
  std::optional<WorkerId> last_pusher;
  std::optional<WorkerId> trigger_worker;  // Whose push ended the last round.
};

// What quorums and sizers before these learnt, as they saved it.
struct Learnt {
  std::string quorum;
  std::string sizing;
};

// What was shared out last.
struct Shared {
  uint32_t members = 0;
  uint32_t silent = 0;  // Members that had no part, or were slow rather than gone.
  double samples = 0;
};

// Of before the spec was changed: for what was computed on versions until then.
struct FormerReach {
  std::optional<uint64_t> reach;
  Version until;
};

struct EngineState {
  PolicySpec spec;
  Coordinates at;  // The point that it is.
  Cloned<Quorum> quorum;
  Cloned<BatchSizer> sizer;

  EnginePhase phase = EnginePhase::kOpening;
  uint32_t joins = 0;
  Version version;    // The newest that was committed here, published or not...
  Version published;  // ...and the newest that was published.
  Roster roster;
  Round round;
  uint64_t slowest = 0;              // The least clock when somebody last counted.
  std::optional<Version> finite_on;  // The newest version that a finite push was based on.
  Pace pace;                         // Only where modulation asks for it.
  uint32_t pushes_a_version = 1;     // In the newest.

  // Shares (sharing.h).
  Shared shared;
  uint32_t swept = 0;  // Pushes since they were shared out, where each makes a version.
  bool is_sharing_due = false;

  // Of a spec that was changed (reconfigured.h).
  Learnt learnt;
  std::vector<FormerReach> former_reaches;  // Each wider than those after it.
  bool is_quorum_due = false;

  // Local steps.
  std::optional<WorkerId> designated;  // Whose push alone ends the round.
  uint64_t rounds_since_election = 0;
  LocalSeen seen;

  // Ids; some may be there twice, or gone.
  std::vector<WorkerId> due;          // To be looked at before this Observe ends.
  std::vector<WorkerId> held;         // Until the next round begins.
  std::vector<WorkerId> unpublished;  // Until what they were sent to is published.
  std::deque<WorkerId> line;          // Those who found no samples, the first one first.
  uint64_t samples_left = 0;          // Of those that returned: for whoever is in line.
  bool is_beginning_told = false;     // Quorum is to hear of the round that has begun.
};

struct Turn {
  EngineState& state;
  Time now;
  std::vector<Decision>& decisions;
};

}  // namespace paceline::sync
