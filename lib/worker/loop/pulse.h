// Defines Pulse: what a worker does at this moment and how far its step has come, for heartbeats.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/protocol/worker_messages.h"

namespace paceline::worker {

// Thread-safe; never blocks.
class Pulse {
 public:
  struct Reading {
    protocol::Doing doing = protocol::Doing::kWaiting;
    uint64_t steps = 0;  // Begun and ended.
    uint64_t ticks = 0;  // Differs after any sign of progress.
  };

  void BeginStep() {
    ++ticks_;
    is_computing_ = true;
  }
  // A part of the step is done.
  void Tick() { ++ticks_; }
  // Of a step that was begun: what is done is no part of it, or is again.
  void EnterScript() {
    is_in_script_ = true;
    ++ticks_;
  }
  void LeaveScript() {
    is_in_script_ = false;
    ++ticks_;
  }
  void EndStep() {
    is_computing_ = is_in_script_ = false;
    ++steps_;
    ++ticks_;
  }

  Reading Read() const {
    using protocol::Doing;
    const Doing doing = is_in_script_     ? Doing::kInScript
                        : is_computing_   ? Doing::kComputing
                        : is_delayed_     ? Doing::kDelayed
                        : transfers_ != 0 ? Doing::kTransferring
                                          : Doing::kWaiting;
    return {doing, steps_, ticks_};
  }

  // While one lives, the worker sleeps on purpose, or transfers.
  class Delayed {
   public:
    explicit Delayed(Pulse* pulse) : pulse_(pulse) {
      if (pulse_ != nullptr) pulse_->is_delayed_ = true;
    }
    ~Delayed() {
      if (pulse_ != nullptr) pulse_->is_delayed_ = false;
    }
    Delayed(const Delayed&) = delete;
    Delayed& operator=(const Delayed&) = delete;

   private:
    Pulse* const pulse_;
  };
  class Transferring {
   public:
    explicit Transferring(Pulse* pulse) : pulse_(pulse) {
      if (pulse_ != nullptr) ++pulse_->transfers_;
    }
    ~Transferring() {
      if (pulse_ != nullptr) --pulse_->transfers_;
    }
    Transferring(const Transferring&) = delete;
    Transferring& operator=(const Transferring&) = delete;

   private:
    Pulse* const pulse_;
  };

 private:
  std::atomic<bool> is_computing_ = false, is_in_script_ = false, is_delayed_ = false;
  std::atomic<int> transfers_ = 0;
  std::atomic<uint64_t> steps_ = 0, ticks_ = 0;
};

}  // namespace paceline::worker
