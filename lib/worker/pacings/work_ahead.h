// Defines WorkAhead: a pacing in which the worker computes while it communicates. It takes orders
// as they come and works them off on threads of its own.
#pragma once

#include "lib/base/status.h"
#include "lib/base/version.h"
#include "lib/protocol/worker_messages.h"
#include "lib/sync/contract/decision.h"

namespace paceline::worker {

// Thread-safe; nothing blocks but the destructor, which gives the running step up, if it can be,
// and waits for a transfer that runs.
class WorkAhead {
 public:
  virtual ~WorkAhead() = default;
  virtual sync::Pacing pacing() const = 0;

  // One step more, if a lease comes with it; on that version, or a later one.
  virtual void Release(const protocol::Released& released) = 0;
  virtual void Continue(const protocol::Continued& continued) = 0;
  virtual void Offer(Version version) = 0;
  // Finish the step in work, push, then tell the coordinator so. The first time counts.
  virtual void Drain(const protocol::Leaving& leaving) = 0;

  // Why it stopped by itself; it has closed the session then.
  virtual Status status() const = 0;
};

}  // namespace paceline::worker
