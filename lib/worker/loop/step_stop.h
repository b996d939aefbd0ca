// Defines StepStop: the StepControl of a worker, through which other threads end the step in work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "lib/base/ids.h"
#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/worker/loop/trainer.h"

namespace paceline::worker {

// Thread-safe; nothing blocks but Sleep. MayGoOn is one atomic load.
class StepStop final : public StepControl {
 public:
  // What interrupts cost, since the beginning.
  struct Cost {
    uint64_t steps = 0;         // Given up because they were interrupted, and a next one begun.
    Duration until_stopped{};   // From the order's arrival to the step's end, all together.
    Duration until_next{};      // To the beginning of the next step, all together...
    Duration until_next_max{};  // ...and the longest.
  };

  // `now` is the steady clock; read where a step is interrupted, and nowhere else.
  explicit StepStop(std::function<Time()> now) : now_(std::move(now)) {}

  bool MayGoOn() override { return may_go_on_.load(std::memory_order_acquire); }
  void Sleep(Duration duration) override;

  // A session begins, in which sequences count from 1: what was ordered before is void.
  void Reset();
  // The step whose push is to have that sequence runs, until End says how it ended.
  void Begin(Sequence sequence);
  void End(const Status& how);

  // That step is not wanted any more, whether it runs or is to come. Any other is left alone.
  void Interrupt(Sequence sequence);
  // Nor is any, from now on.
  void Stop();
  // From now on nobody sleeps; steps go on.
  void Hurry();

  Cost cost() const;

 private:
  void Heed();  // Holds the lock: ends the running step if it is the one.

  const std::function<Time()> now_;
  std::atomic<bool> may_go_on_ = true;

  mutable std::mutex mutex_;  // Guards what is below.
  std::condition_variable changed_;
  std::optional<Sequence> running_;
  Sequence ordered_;  // To give up, the latest of this session; 0: none.
  Time ordered_at_{};
  bool is_stopped_ = false;
  bool is_hurried_ = false;
  std::optional<Time> interrupted_;  // When, of the step that runs or ran last.
  Duration until_stopped_{};
  Cost cost_;
};

}  // namespace paceline::worker
