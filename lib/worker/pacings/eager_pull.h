// Defines EagerPull: the pacing in which the answer to a push, and the version that it brings,
// travels while the worker computes the next step (PS+).
//
// Of the two threads, the communicating one pushes, then pulls what the answer names. They meet
// when a step is done:
// - the computing thread waits until the answer to the push before is here, pulled;
// - what the step changed, times the scale that came with the answer, is handed over to be pushed;
// - the local copy becomes the pulled version and, on top, all own deltas that it does not hold;
// - the next step begins, if there is a lease for one.
// Who had nothing to compute when the answer came begins on the version that it brings.
// An answer without a lease is pulled and used alike: there are no samples for now.
//
// A delta that is not finite is pushed as it is, so that it counts, and never goes into the copy;
// the local optimizer begins anew.
#pragma once

#include <deque>
#include <optional>

#include "lib/worker/loop/transfer_time.h"
#include "lib/worker/loop/transfers.h"
#include "lib/worker/pacings/own_deltas.h"
#include "lib/worker/pacings/two_threads.h"

namespace paceline::worker {

// Memory: that of TwoThreads, and the delta of the push that is not answered.
class EagerPull : public TwoThreads {
 public:
  EagerPull(Options options, LocalSteps local);
  ~EagerPull() override;

  sync::Pacing pacing() const override { return sync::Pacing::kEagerPull; }
  void Release(const protocol::Released& released) override;
  void Continue(const protocol::Continued& continued) override;

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
  };
  struct Sent {
    Tally tally;
    Version based_on;
    sync::Timing timing;
  };

  void ComputeOnce(Lock& lock) override;
  void Step(Lock& lock);
  void Send(Lock& lock);
  void TakeIn(Lock& lock);
  // The copy becomes the version that was pulled, with what it lacks.
  void Replace(std::optional<Sequence> includes);
  // Cuts what the step changed into `push_bytes_`, times `scale`. False if it is not finite.
  bool Scale(double scale);

  void CommunicateOnce(Lock& lock) override;
  void Push(Lock& lock);
  void Pull(Lock& lock);

  // All of these hold the lock.
  bool MaySend() const;
  bool MayPull() const { return wanted_ && !is_draining_ && !is_taking_in_; }
  bool MayTakeIn() const { return pulled_ && !made_ && !sent_; }
  bool MayStep() const;
  bool IsToLeave() const;
  Activity WaitingFor() const;

  // pulled_bytes_ belongs to the computing thread while `pulled_` is set, push_bytes_ unless
  // `sent_` is.
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
  bool has_paused_ = false;    // Nothing was to be computed: the answer comes before the next step.
  bool is_spoilt_ = false;     // The local copy is not finite: a version has to replace it.
  TransferTime transfer_time_;  // Taken when a push is handed over.
};

}  // namespace paceline::worker
