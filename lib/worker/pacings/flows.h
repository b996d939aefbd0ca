// Defines Flows: what the pacings share in which a worker computes while it communicates.
//
// Each flow is a thread. One computes: it owns the trainer and the local copy. The others
// communicate: they push, pull and tell. They meet under one lock; what each does next is the
// pacing's own business.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/base/status.h"
#include "lib/worker/loop/session.h"
#include "lib/worker/loop/step_stop.h"
#include "lib/worker/loop/stopwatch.h"
#include "lib/worker/loop/trainer.h"
#include "lib/worker/loop/transfers.h"
#include "lib/worker/pacings/local_steps.h"
#include "lib/worker/pacings/work_ahead.h"

namespace paceline::worker {

// Trainer, transfers and session belong to it until it is destroyed, but for Transfers::Announce
// and Session::Send and Receive. Memory: two copies of the layout, and LocalSteps' own.
class Flows : public WorkAhead {
 public:
  struct Options {
    std::shared_ptr<Session> session;
    Transfers* transfers = nullptr;
    Trainer* trainer = nullptr;
    std::function<Time()> now;
    // What the host is like now; goes with each push. May be null.
    std::function<sync::Signals(Time now)> read_signals = nullptr;
  };

  void Offer(Version version) override { options_.transfers->Announce(version); }
  void Drain(const protocol::Leaving& leaving) override;
  Status status() const override;

 protected:
  using Lock = std::unique_lock<std::mutex>;

  Flows(Options options, LocalSteps local);
  // Of one flow: does one thing or waits for `changed_`; called again until all stop. The lock is
  // held, and given up meanwhile.
  using Once = std::function<void(Lock&)>;
  // Last in the constructor of what derives from it, and first in its destructor.
  void Start(std::vector<Once> flows);
  void Stop();

  // The trainer's, given up when all of this stops. Of the computing thread, without the lock.
  StatusOr<StepResult> MakeStep(const protocol::Lease& lease);
  // Nothing where there is nobody to ask. Of the thread that pushes, without the lock: it reads
  // the kernel's files.
  sync::Signals ReadSignals() const;

  // All of these hold the lock.
  // A batch that did not fit or overflowed is handed back; anything else ends the worker.
  void GiveUp(const protocol::Lease& lease, const Status& why);
  void TellAbandoned();
  void TellLeaving();
  void Fail(const Status& status);

  const Options options_;

  // Of the computing thread, but for the buffers while the other one pushes or pulls.
  LocalSteps local_;
  Stopwatch stopwatch_;
  std::vector<std::byte> push_bytes_;
  std::vector<std::byte> pulled_bytes_;

  mutable std::mutex mutex_;  // Guards what is below and what derived classes say of their own.
  std::condition_variable changed_;
  bool is_stepping_ = false;                   // A turn is taken, and neither tallied nor given up.
  std::deque<protocol::Abandoned> abandoned_;  // To be numbered and told, in order with pushes.
  bool is_draining_ = false;
  protocol::Leaving leaving_;  // What it says then.
  bool has_left_ = false;
  bool is_stopping_ = false;

 private:
  void Run(const Once& once);

  StepStop stop_;  // Ends the running step when all of this stops.
  Status status_;
  std::vector<std::thread> threads_;
};

}  // namespace paceline::worker
