// Defines Member: what the engine knows of one worker that takes part.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/base/ids.h"
#include "lib/base/version.h"
#include "lib/sync/contract/event.h"
#include "lib/sync/schemes/non_finite.h"

namespace paceline::sync {

// What the roster's counts are of: changed through Roster::Change alone.
struct Standing {
  uint32_t owed = 0;         // Pushes of steps that it was sent on to.
  uint32_t pushes = 0;       // In the open round.
  bool is_counted = false;   // The open round is its round, too.
  bool is_missing = false;   // So silent that no round waits for it, until it is heard of.
  bool has_sat_out = false;  // Its push of the open round was not finite.
  bool is_starved = false;   // What it was sent on to found no samples.
  uint64_t clock = 0;        // Its pushes that counted.
};

// Of a worker that makes local steps.
struct LocalProgress {
  std::optional<Version> on;  // The version it was sent to last; absent: it must be released.
  uint32_t leases = 2;        // That it may hold, where it computes while pushes travel.
  uint32_t steps = 0;         // In its pushes of the open round...
  double mean_steps = 0;      // ...and in a round, newer ones counting more; 0: none yet.
  double step_seconds = 0;    // Mean over its steps, newer ones counting more; 0: none yet.

  // For people.
  Timing total;
  uint64_t pushes = 0;
  uint64_t pulls = 0;
  uint64_t timeouts = 0;
  uint32_t steps_last_round = 0;
  double delta_norm = 0;
};

class Member {
 public:
  explicit Member(WorkerId worker) : id(worker) {}

  WorkerId id;
  const Standing& standing() const { return standing_; }

  bool is_in_line = false;            // For samples that return.
  bool is_held = false;               // Until the next round begins.
  bool is_new = true;                 // Never sent on yet.
  std::optional<uint64_t> parked_at;  // Its clock when the window stopped it.
  std::optional<Version> only_for;    // Its step counts in the round of that version alone.

  uint32_t share = 1;                 // Samples of its part of a round.
  uint32_t samples_max = UINT32_MAX;  // What fits its memory, as far as known.
  NonFinitePushes non_finite;

  // Eager pull.
  bool is_unanswered = false;       // Pushed since its last release.
  std::optional<Sequence> last;     // Its newest push.
  std::optional<Version> released;  // What it was last released on...
  uint64_t own_since_release = 0;   // ...and its own commits since.
  double scale = 1;                 // Of its next push.

  LocalProgress local;

 private:
  friend class Roster;
  Standing standing_;
};

}  // namespace paceline::sync
