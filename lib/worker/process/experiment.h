// Puts the job's injected delays and slow links around what the worker uses.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/chaos/delays.h"
#include "lib/chaos/links.h"
#include "lib/job/manifest/training_job.h"
#include "lib/protocol/seat.h"
#include "lib/worker/loop/delayed_trainer.h"
#include "lib/worker/loop/session.h"

namespace paceline::worker {

// What spec.chaos does to one worker. Nothing, for most jobs and for an evaluator.
class Experiment {
 public:
  // Reads the traces; relative paths start in `folder`. InvalidArgument naming field and file if
  // one cannot be read. Says in the log what is injected.
  static StatusOr<Experiment> Create(const job::Chaos& chaos, const protocol::Seat& worker,
                                     const std::string& folder);

  // `trainer` itself, or what delays it and tells `pulse`; owned by this.
  Trainer* Delay(Trainer* trainer, Pulse* pulse);
  Connector Throttle(Connector connector) const;
  // Says in the log how long the worker slept.
  void SayTotals() const;

 private:
  Experiment(chaos::Delays delays, std::optional<chaos::Link> link)
      : delays_(std::move(delays)), link_(link) {}

  chaos::Delays delays_;
  std::optional<chaos::Link> link_;
  std::unique_ptr<DelayedTrainer> delayed_;
};

}  // namespace paceline::worker
