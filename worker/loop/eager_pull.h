// Defines EagerPull: the pacing in which the answer to a push, and the version that it brings,
// travels while the worker computes the next step (PS+).
//
// Two threads. One computes: it owns the trainer and the local copy. One communicates: it pushes,
// then pulls what the answer names. They meet when a step is done:
// - the computing thread waits until the answer to the push before is here, pulled;
// - what the step changed, times the scale that came with the answer, is handed over to be pushed;
// - the local copy becomes the pulled version and, on top, all own deltas that it does not hold;
// - the next step begins, if there is a lease for one.
// An answer without a lease is pulled and used alike: there are no samples for now.
//
// A delta that is not finite is pushed as it is, so that it counts, and never goes into the copy;
// the local optimizer begins anew.
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
#include "worker/loop/own_deltas.h"
#include "worker/loop/session.h"
#include "worker/loop/stopwatch.h"
#include "worker/loop/trainer.h"
#include "worker/loop/transfers.h"
#include "worker/loop/work_ahead.h"

namespace paceline::worker {

// Memory, in copies of the layout: what is being pushed, what is being pulled, the delta of the
// push that is not answered, LocalSteps' own. Trainer, transfers and session belong to it until it
// is destroyed, but for Transfers::Announce and Session::Send and Receive.
class EagerPull : public WorkAhead {
 public:
  struct Options {
    std::shared_ptr<Session> session;
    Transfers* transfers = nullptr;
    Trainer* trainer = nullptr;
    std::function<Time()> now;
  };
  EagerPull(Options options, LocalSteps local);
  ~EagerPull() override;

  sync::Pacing pacing() const override { return sync::Pacing::kEagerPull; }
  void Release(const protocol::Released& released) override;
  void Continue(const protocol::Continued& continued) override;
  void Offer(Version version) override { options_.transfers->Announce(version); }
  void Drain() override;
  Status status() const override;

 private:
  struct Turn {
    protocol::Lease lease;
    double learning_rate = 0;
  };
  struct Answer {
    Version version;  // At least that; once pulled: what is here.
    std::optional<Sequence> includes;
    double scale = 1;
  };
  struct Made {
    Tally tally;
    Version based_on;
    bool is_finite = true;
  };
  struct Sent {
    Tally tally;
    Version based_on;
    sync::Timing timing;
  };
  using Lock = std::unique_lock<std::mutex>;

  void Compute();
  void Step(Lock& lock);
  void GiveUp(const Turn& turn, const Status& why);
  void Send(Lock& lock);
  void TakeIn(Lock& lock);
  // The copy becomes the version that was pulled, with what it lacks.
  void Replace(std::optional<Sequence> includes);
  // Cuts what the step changed into `push_bytes_`, times `scale`. False if it is not finite.
  bool Scale(double scale);

  void Communicate();
  void Push(Lock& lock);
  void Pull(Lock& lock);
  void CloseAfterFailure(Lock& lock);

  // All of these hold the lock.
  bool MaySend() const;
  bool MayPull() const { return wanted_ && !is_draining_ && !is_taking_in_; }
  bool MayTakeIn() const { return pulled_ && !made_ && !sent_; }
  bool MayStep() const;
  bool IsToLeave() const;
  Activity WaitingFor() const;
  void TellAbandoned();
  void Fail(const Status& status);

  const Options options_;

  // Of the computing thread, but for push_bytes_ while `sent_` and pulled_bytes_ unless `pulled_`.
  LocalSteps local_;
  Stopwatch stopwatch_;
  std::vector<std::byte> push_bytes_;
  std::vector<std::byte> pulled_bytes_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  OwnDeltas own_;  // Used without the lock by the computing thread, while nothing is `sent_`.
  std::deque<Turn> turns_;
  std::optional<Answer> wanted_;  // To be pulled.
  std::optional<Answer> pulled_;  // Here, not used yet.
  std::optional<Version> base_;   // Of the local copy; absent before the first version.
  double scale_ = 1;              // Of the next push.
  std::optional<Made> made_;      // A step is done, its push not handed over.
  std::optional<Sent> sent_;      // Handed over, not pushed yet.
  bool is_pulling_ = false;
  bool is_taking_in_ = false;  // pulled_bytes_ is being read.
  bool is_stepping_ = false;   // A turn is taken, and neither made nor given up.
  bool is_spoilt_ = false;     // The local copy is not finite: a version has to replace it.
  Duration transfers_{};  // Time that pushes and pulls took since the last push was handed over.
  std::deque<protocol::Abandoned> abandoned_;  // To be numbered and told, in order with pushes.
  bool is_draining_ = false;
  bool has_left_ = false;
  bool is_stopping_ = false;
  Status status_;

  std::thread computing_;  // Last: they use the rest.
  std::thread communicating_;
};

}  // namespace paceline::worker
