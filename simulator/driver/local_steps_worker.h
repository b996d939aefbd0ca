// Defines LocalStepsWorker: one that goes on from a copy of its own, with several local steps in a
// push where pushes are slow (sync::Pacing::kOverlapped), or that waits for each transfer
// (kKeepGoing).
//
// As lib/worker's Overlapped: it computes, and beside that it has one transfer under way, pushes
// and pulls in turns. They meet at the borders of steps only, where it takes over a version that
// came, cuts off what is not pushed if nothing is on its way, and begins the next step if it has a
// lease for one.
#pragma once

#include <deque>
#include <optional>

#include "simulator/driver/virtual_worker.h"
#include "simulator/model/local_copy.h"

namespace paceline::simulator {

class LocalStepsWorker final : public VirtualWorker {
 public:
  LocalStepsWorker(World& world, uint32_t index, uint16_t life);

  void Release(const protocol::Released& released) override;
  void Continue(const protocol::Continued& continued) override;
  void Offer(Version version) override;
  void Interrupt(Sequence) override {}  // Steps that are not pushed would be lost.

 private:
  struct Turn {
    protocol::Lease lease;
    double learning_rate = 0;
    Version needs;  // The copy is on that version or a later one.
  };
  struct Cut {
    Tally tally;
    Version based_on;
    sync::Timing timing;
    Values delta;
    Time began{};  // Its transfer.
  };

  void Computed() override;
  void GivenUp() override {}
  void Pulled() override;
  void Pushed() override;

  void Add(const protocol::Lease& lease, const sync::Assignment& assignment, double learning_rate,
           Version needs);
  void Want(Version version);
  void GoOn();
  void Communicate();
  void TakeOver();
  void CutOff();
  bool MayTakeOver() const;
  bool MayCutOff() const { return unpushed_.steps > 0 && !push_; }
  bool MayStep() const;
  bool HasToFetch() const;
  bool IsOverlapped() const { return assignment_.pacing == sync::Pacing::kOverlapped; }

  LocalCopy copy_;
  std::deque<Turn> turns_;
  sync::Assignment assignment_;  // The newest.
  bool is_stepping_ = false;     // The first turn.
  Tally unpushed_;
  std::optional<Cut> push_;      // On its way.
  bool is_talking_ = false;      // A transfer is under way.
  bool is_fetch_next_ = false;   // Where there is a push, too.
  std::optional<Version> base_;  // Of the copy.
  std::optional<Version> wanted_;
  std::optional<Copy> fetching_, incoming_;  // On its way; here, not taken over.
  bool is_spoilt_ = false;                   // The copy is not finite.
};

}  // namespace paceline::simulator
