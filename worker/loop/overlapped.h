// Defines Overlapped: the pacing in which a worker computes while its pushes and pulls travel.
//
// Two threads. One computes: it owns the trainer and the local copy, and meets the other at the
// borders of steps only. One communicates: it pushes what was cut off and fetches versions, in
// turns. At a border the computing thread
// - takes over a fetched version, by the assignment's OnPull;
// - cuts off what is not pushed, if the last push is done; else it goes on, and the next push
//   carries several steps;
// - begins the next step, if it has a lease for one.
// A copy that is not finite any more is pushed as it is, so that it counts, and then replaced by
// the newest version.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "lib/base/status.h"
#include "worker/loop/local_steps.h"
#include "worker/loop/session.h"
#include "worker/loop/stopwatch.h"
#include "worker/loop/trainer.h"
#include "worker/loop/transfers.h"
#include "worker/loop/work_ahead.h"

namespace paceline::worker {

// Memory, in copies of the layout: what is being pushed, what is being pulled, LocalSteps' own.
// Trainer, transfers and session belong to it until it is destroyed, but for
// Transfers::Announce and Session::Send and Receive.
class Overlapped : public WorkAhead {
 public:
  struct Options {
    std::shared_ptr<Session> session;
    Transfers* transfers = nullptr;
    Trainer* trainer = nullptr;
    std::function<Time()> now;
  };
  Overlapped(Options options, LocalSteps local);
  ~Overlapped() override;

  sync::Pacing pacing() const override { return sync::Pacing::kOverlapped; }
  void Release(const protocol::Released& released) override;
  void Continue(const protocol::Continued& continued) override;
  void Offer(Version version) override;
  void Drain() override;
  Status status() const override;

 private:
  struct Turn {
    protocol::Lease lease;
    sync::Assignment assignment;
    double learning_rate = 0;
    Version needs;  // The local copy is on that version or a later one.
  };
  using Lock = std::unique_lock<std::mutex>;

  void Compute();
  void TakeOver(Lock& lock);
  void CutOff(Lock& lock);
  void Step(Lock& lock);
  void GiveUp(const Turn& turn, const Status& why);

  void Communicate();
  void Push(Lock& lock);
  void Fetch(Lock& lock);
  void CloseAfterFailure(Lock& lock);

  // All of these hold the lock.
  bool MayTakeOver() const;
  bool MayCutOff() const { return unpushed_.steps > 0 && !push_; }
  bool MayStep() const;
  bool HasToFetch() const;
  bool IsToLeave() const;
  void TellAbandoned();
  void Fail(const Status& status);
  void Add(Turn turn);
  void Want(Version version);

  const Options options_;

  // Of the computing thread, but for push_bytes_ while `push_` and incoming_bytes_ unless
  // `incoming_` is set.
  LocalSteps local_;
  Stopwatch stopwatch_;
  std::vector<std::byte> push_bytes_;
  std::vector<std::byte> incoming_bytes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Turn> turns_;
  sync::Assignment assignment_;  // The newest.
  Tally unpushed_;
  struct Cut {
    Tally tally;
    Version based_on;
    sync::Timing timing;
  };
  std::optional<Cut> push_;          // On its way.
  bool is_fetch_next_ = false;       // Where there is a push, too.
  std::optional<Version> base_;      // Of the local copy; absent before the first take-over.
  std::optional<Version> incoming_;  // Fetched, not taken over.
  std::optional<Version> wanted_;    // Newest that was released or offered.
  bool is_stepping_ = false;         // A turn is taken, and neither tallied nor given up.
  bool is_spoilt_ = false;           // The local copy is not finite.
  std::deque<protocol::Abandoned> abandoned_;  // To be numbered and told, in order with pushes.
  bool is_draining_ = false;
  bool has_left_ = false;
  bool is_stopping_ = false;
  Status status_;

  std::thread computing_;  // Last: they use the rest.
  std::thread communicating_;
};

}  // namespace paceline::worker
