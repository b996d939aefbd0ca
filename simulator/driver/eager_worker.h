// Defines EagerWorker: one that computes on while its push, the answer to it and the version that
// this brings travel (sync::Pacing::kEagerPull).
//
// As lib/worker's EagerPull, whose three flows these are: a step's change is handed over to be
// pushed once the push before was answered; the copy becomes the version that was pulled, with all
// own deltas on top that it lacks; a step begins if they are no more than the depth. A pull begins
// when every push is answered, and names its version at once: the next push need not wait.
#pragma once

#include <deque>
#include <optional>

#include "simulator/driver/virtual_worker.h"
#include "simulator/model/local_copy.h"
#include "simulator/model/own_deltas.h"

namespace paceline::simulator {

class EagerWorker final : public VirtualWorker {
 public:
  EagerWorker(World& world, uint32_t index, uint16_t life);

  void Release(const protocol::Released& released) override;
  void Continue(const protocol::Continued& continued) override;
  void Offer(Version) override {}
  void Interrupt(Sequence) override {}  // Steps that are not pushed would be lost.

 private:
  struct Turn {
    protocol::Lease lease;
    double learning_rate = 0;
  };
  struct Made {
    Tally tally;
    Version based_on;
  };
  struct Sent {
    Made made;
    sync::Timing timing;
    Values delta;
    Time began{};  // Its transfer.
  };
  struct Brought {
    Copy copy;
    std::optional<Sequence> includes;
  };

  void Computed() override;
  void GivenUp() override {}
  void Pulled() override;
  void Pushed() override;

  void Add(const protocol::Lease& lease, double learning_rate, const sync::Assignment& assignment);
  void GoOn();
  void Send();
  void TakeIn();
  void Pull();
  void Push();
  bool IsAnswered() const { return !is_pushing_ && (!pushed_ || answered_ >= pushed_); }
  bool MaySend() const { return made_ && !sent_ && IsAnswered(); }
  bool MayTakeIn() const { return pulled_ && !made_; }
  bool MayStep() const;
  bool MayPull() const { return is_wanted_ && !pulling_ && IsAnswered(); }

  LocalCopy copy_;
  OwnDeltas own_;
  std::deque<Turn> turns_;
  double scale_ = 1;
  uint32_t depth_ = 1;
  bool is_stepping_ = false;  // The first turn.
  std::optional<Made> made_;  // Not handed over yet.
  std::optional<Sent> sent_;  // To be pushed, or on its way.
  bool is_pushing_ = false;
  std::optional<Version> base_;                // Of the copy.
  bool is_wanted_ = false;                     // The version that the last answer brings.
  std::optional<Brought> pulling_, pulled_;    // On its way; here, not taken in.
  std::optional<Sequence> pushed_, answered_;  // The newest.
  bool has_paused_ = false;                    // It waits for the version that its answer brings.
  bool is_spoilt_ = false;                     // The copy is not finite.
};

}  // namespace paceline::simulator
