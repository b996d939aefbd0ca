// Defines Decision: what a synchronisation policy wants done, in order, each with its reason.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "lib/base/ids.h"
#include "lib/base/outer_step.h"
#include "lib/base/push_kind.h"
#include "lib/base/version.h"

namespace paceline::sync {

// How a worker goes on after a push.
enum class Pacing {
  kWait,        // Push, then wait for the release.
  kKeepGoing,   // Go on from the local copy until released (WBSP).
  kOverlapped,  // The same, with pushes and pulls travelling meanwhile.
  kEagerPull,   // Pull the next version while computing (PS+).
};

// What a worker with that pacing pushes.
constexpr PushKind PushKindOf(Pacing pacing) {
  return pacing == Pacing::kWait ? PushKind::kGradient : PushKind::kDelta;
}

// What becomes of local steps that are not pushed yet when a new version comes in.
enum class OnPull {
  kRebase,     // They go on top of it.
  kOverwrite,  // They are pushed as they are, and the version takes the place of the local copy.
};
// Of the worker's own optimizer, when a new version comes in.
enum class MomentumOnPull { kKeep, kReset };

// How much the next step may be. `samples` is a wish: the lease may hold fewer, never more.
struct Assignment {
  uint32_t samples = 0;            // Samples of the next push, at least 1.
  uint32_t steps_max = 1;          // Local steps until the worker must stop for an answer.
  double learning_rate_scale = 1;  // Applies to the next push sent, the step in flight included.
  Pacing pacing = Pacing::kWait;
  OnPull on_pull = OnPull::kRebase;                         // Of local steps.
  MomentumOnPull momentum_on_pull = MomentumOnPull::kKeep;  // Likewise.
  // kEagerPull: of the worker's own pushes, how many the version that a step begins on may lack.
  uint32_t depth = 1;
  friend bool operator==(const Assignment&, const Assignment&) = default;
};

enum class DropReason {
  kSuperseded,  // The step it belongs to was committed without it.
  kTooStale,    // Beyond the staleness that the policy allows.
  kNonFinite,   // NaN or infinity; never applied.
  kWorkerLeft,  // Its worker is gone, and what is left of it with it.
  kQuiescing,   // The policy is being stopped.
};
enum class Exactness { kExact, kAtLeast };
enum class ExpelReason { kNonFiniteRepeatedly, kTooSlow };
enum class RollBackReason { kNonFinite };

// Adds `weight` x the staged push to the open sum. Weight: its samples, for gradients; 1/n for
// deltas.
struct Accumulate {
  WorkerId worker;
  Sequence sequence;
  double weight = 0;
};

// Answers a push without using it; its samples go back to their epoch.
struct Drop {
  WorkerId worker;
  Sequence sequence;
  DropReason reason;
};

// Applies `gradient_scale` x the open sum, by its kind, and publishes the next version. Never
// decided with an empty sum.
struct Commit {
  double gradient_scale = 1;
  double learning_rate_scale = 1;  // Gradients: times the schedule's rate.
  PushKind kind = PushKind::kGradient;
  std::optional<OuterStep> outer;  // Deltas: how they move the model; absent: they are added.
};

// Sends a waiting worker on. kExact: compute on `version`; kAtLeast: on that or any later one.
// `includes`: the last of the worker's own pushes that was answered before, where it matters: what
// was accumulated of those up to it is in the version, the others never will be.
struct Release {
  WorkerId worker;
  Version version;
  Exactness exactness = Exactness::kExact;
  std::optional<Sequence> includes;
  Assignment assignment;
};

struct Offer {
  WorkerId worker;
  Version version;
};  // A busy worker may fetch it meanwhile.
struct Continue {
  WorkerId worker;
  Assignment assignment;
};  // Go on from your own copy.
struct Interrupt {
  WorkerId worker;
};  // Give the running step up.
struct Expel {
  WorkerId worker;
  ExpelReason reason;
};  // It is no member from now on.
struct RollBack {
  RollBackReason reason;
};

// How a policy that chooses by itself goes on.
enum class Way {
  kBarrier,  // A version of the first pushes on the one before.
  kAsync,    // A version of so many pushes, whatever they were computed on.
};
enum class ChoiceReason {
  kFaster,    // More progress a second is expected.
  kMembers,   // Somebody came, or is not known well enough.
  kOverdue,   // A round takes much longer than it should.
  kLossRose,  // What was in force did harm.
  kMeasured,  // No other choice: what the last one brought.
};

// For people; nothing follows from it.
struct Chosen {
  Way way = Way::kBarrier;
  uint32_t pushes = 0;  // Of a version.
  ChoiceReason reason = ChoiceReason::kFaster;
  double gain = 1;  // Progress a second, beside the choice before: expected, or measured.
};

using Decision = std::variant<Accumulate, Drop, Commit, Release, Offer, Continue, Interrupt, Expel,
                              RollBack, Chosen>;

}  // namespace paceline::sync
