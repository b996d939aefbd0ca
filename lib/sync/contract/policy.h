// Defines Policy: the pure state machine that decides whose gradients count, who may go on, and
// with how much work. Live in the parameter server, on a virtual clock in the simulator.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/time.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/event.h"
#include "lib/sync/contract/figure.h"

namespace paceline::sync {

// One owner at a time. No I/O, no clock, no thread, no randomness of its own: equal calls give
// equal decisions. `now` never decreases.
//
// Answers: every PushArrived is answered exactly once by Accumulate or Drop, at once or later. An
// accumulated push is covered by the next Commit. A worker *waits* when it owes no push, has an
// unanswered one, or has just joined; only waiting workers are released.
//
// Eager pull: a worker holds leases for the step that it computes and for the next one. A release
// with that pacing answers its push up to `includes`, brings one lease, and may come while it owes
// a push; Continue brings a lease alone. The worker sends a push only if those before were
// answered; the version of an answer may take longer to arrive, and the step that begins meanwhile
// is based on one that lacks up to `depth` of the worker's own pushes.
//
// Versions: Commit makes version v+1 of v. The policy may release or offer v+1 in the same list, or
// in a later one: the driver holds those back until all shards have published it, then says
// StepCommitted.
//
// Membership: a loss takes effect at once (a barrier that it was blocking opens in the same call);
// what the lost worker has staged and not yet accumulated is answered with Drop{kWorkerLeft}. A
// join takes effect at the next commit for barrier schemes, at once for barrier-free ones.
//
// Out of data: after OutOfData the worker waits again and counts nowhere, until SamplesReturned
// says how many samples can be leased. Then the policy releases as many of those who are out of
// data as these are for, who has waited longest first: each release and continuation since then
// uses up what it assigns, and OutOfData all there is. A thousand who looked for the samples of one
// would be told OutOfData again, each, and again at the next loss. The driver says what is left as
// soon as somebody has taken some or found none, and when one leaves for whom they may have been
// meant. When nobody who has data owes a push, the policy commits what it accumulated.
//
// Spare: work that need not be done before the next release (refits, training of predictors) waits
// for Spare. The driver offers it when WantsSpare says so, once what was decided is on its way and
// nothing else has come in, and rations it to a tenth of a core; a trace holds it like any event.
//
// Reconfigured: what follows from the new knobs at once (a smaller barrier that is full, a wider
// window) is decided in the same call. No push is dropped and nobody waits for it; what a narrower
// knob forbids from now on and is under way already is let finish.
//
// Roll back: after RollBack, as after Quiesce, it releases nobody and drops every push; what it
// accumulated since the last Commit is lost with the generation. The driver makes a new policy.
class Policy {
 public:
  virtual ~Policy() = default;

  // Appends decisions, never clears. Facts that make no sense (a push of an unknown worker) are
  // answered by a decision with a reason, never by a crash.
  virtual void Observe(const Event& event, Time now, std::vector<Decision>& decisions) = 0;

  // When to report DeadlineReached if nothing else happens first.
  virtual std::optional<Time> Deadline() const = 0;

  // Whether there is work for Spare.
  virtual bool WantsSpare() const { return false; }

  // What it works with at this moment, for metrics and people; appends.
  virtual void Tell(std::vector<Figure>&) const {}

  // What was learnt, as text for a checkpoint; never membership or outstanding pushes. The factory
  // of the same scheme takes it back.
  virtual std::string Save() const = 0;

  // An independent copy in the same state, for what-if questions and exhaustive walks.
  virtual std::unique_ptr<Policy> Clone() const = 0;
};

}  // namespace paceline::sync
