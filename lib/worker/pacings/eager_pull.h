// Defines EagerPull: the pacing in which a push, the answer to it and the version that it brings
// travel while the worker computes on (PS+).
//
// Three flows, each as fast as it can be: one computes, one pushes, one pulls.
// - When a step is done and the push before was answered, what the step changed, times the scale
//   that came with the last answer, is handed over to be pushed.
// - The local copy becomes the version that was pulled, if one is here and, on top, all own deltas
//   that it does not hold.
// - The next step begins, if there is a lease for one and the copy holds no more own deltas than
//   the assignment's depth: 1 waits for the last answer's version, 2 for the one before.
// Who had nothing to compute when the answer came begins on the version that it brings.
// An answer without a lease is pulled and used alike: there are no samples for now.
//
// Shards answer with their newest version: which own pushes it holds is known only if none was
// under way when they named it. So a pull begins when every push is answered, and the next push
// once the version is named, while its bytes still travel. A period then takes as long as the
// longest of computing (C), pushing (U, the commit and the answer included) and pulling (D), or,
// with depth 1, (C + U + D) / 2 if that is more.
//
// A delta that is not finite is pushed as it is, so that it counts, and never goes into the copy;
// the local optimizer begins anew.
#pragma once

#include <deque>
#include <optional>

#include "lib/worker/loop/transfer_time.h"
#include "lib/worker/loop/transfers.h"
#include "lib/worker/pacings/flows.h"
#include "lib/worker/pacings/own_deltas.h"

namespace paceline::worker {

// Memory: that of Flows, a copy of the layout for what arrives, and a delta for each push that the
// copy's version lacks: the depth and one.
class EagerPull : public Flows {
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

  void ComputeOnce(Lock& lock);
  void Step(Lock& lock);
  void Send(Lock& lock);
  // The copy becomes the version that was pulled, with what it lacks.
  void TakeIn(Lock& lock);
  void NameOwn();
  // Cuts what the step changed into `push_bytes_`, times `scale`. False if it is not finite.
  bool Scale(double scale);

  void PushOnce(Lock& lock);
  void Push(Lock& lock);
  void PullOnce(Lock& lock);
  void PulledInVain(const Answer& answer, const Status& why, bool was_named);

  // All of these hold the lock.
  void AddTurn(const protocol::Lease& lease, double learning_rate,
               const sync::Assignment& assignment);
  bool IsAnswered() const { return !is_pushing_ && (!pushed_ || answered_ >= pushed_); }
  bool MaySend() const { return made_ && !sent_ && (IsAnswered() || is_draining_); }
  bool MayTakeIn() const { return pulled_ && !made_; }
  bool MayStep() const;
  // What names a version goes before what would have to wait for the next one's naming.
  bool MayPush() const { return !is_naming_ && !MayPull(); }
  bool MayPull() const;
  bool IsToLeave() const;
  Activity WaitingFor() const;

  // pulled_bytes_ belongs to the computing thread, push_bytes_ does unless `sent_` is set.
  std::vector<std::byte> arriving_bytes_;  // Of the pulling thread: it waits for no step's end.
  OwnDeltas own_;                          // Used without the lock, by the computing thread alone.
  std::deque<Sequence> names_;             // Of its pushes, not told to it yet.
  std::deque<Turn> turns_;
  uint32_t depth_ = 1;
  double scale_ = 1;                  // Of the next push.
  std::optional<Sequence> pushed_;    // The last one that all shards have.
  std::optional<Sequence> answered_;  // The last one that an answer spoke of.
  std::optional<Answer> wanted_;      // To be pulled.
  std::optional<Answer> pulled_;      // Here, not used yet.
  std::optional<Version> base_;       // Of the local copy; absent before the first version.
  std::optional<Made> made_;          // A step is done, its push not handed over.
  std::optional<Sent> sent_;          // Handed over, not pushed yet.
  bool is_pushing_ = false;
  bool is_pulling_ = false;
  bool is_naming_ = false;     // Of the running pull: some shard has not named its version.
  int broken_pulls_ = 0;       // After their naming, one after the other.
  bool is_taking_in_ = false;  // pulled_bytes_ is being read.
  bool has_paused_ = false;    // Nothing was to be computed: the answer comes before the next step.
  bool is_spoilt_ = false;     // The local copy is not finite: a version has to replace it.
  TransferTime transfer_time_;  // Taken when a push is handed over.
};

}  // namespace paceline::worker
