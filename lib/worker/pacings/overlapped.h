// Defines Overlapped: the pacing in which a worker computes while its pushes and pulls travel.
//
// Of two flows, the communicating one pushes what was cut off and fetches versions, in turns.
// They meet at the borders of steps only. There the computing thread
// - takes over a fetched version, by the assignment's OnPull;
// - cuts off what is not pushed, if the last push is done; else it goes on, and the next push
//   carries several steps;
// - begins the next step, if it has a lease for one.
// A copy that is not finite any more is pushed as it is, so that it counts, and then replaced by
// the newest version.
#pragma once

#include <deque>
#include <optional>

#include "lib/worker/loop/transfer_time.h"
#include "lib/worker/loop/transfers.h"
#include "lib/worker/pacings/flows.h"

namespace paceline::worker {

// Memory: that of Flows.
class Overlapped : public Flows {
 public:
  Overlapped(Options options, LocalSteps local);
  ~Overlapped() override;

  sync::Pacing pacing() const override { return sync::Pacing::kOverlapped; }
  void Release(const protocol::Released& released) override;
  void Continue(const protocol::Continued& continued) override;
  void Offer(Version version) override;

 private:
  struct Turn {
    protocol::Lease lease;
    sync::Assignment assignment;
    double learning_rate = 0;
    Version needs;  // The local copy is on that version or a later one.
  };

  void ComputeOnce(Lock& lock);
  void TakeOver(Lock& lock);
  void CutOff(Lock& lock);
  void Step(Lock& lock);

  void CommunicateOnce(Lock& lock);
  void Push(Lock& lock);
  void Fetch(Lock& lock);

  // All of these hold the lock.
  bool MayTakeOver() const;
  bool MayCutOff() const { return unpushed_.steps > 0 && !push_; }
  bool MayStep() const;
  bool HasToFetch() const;
  bool IsToLeave() const;
  Activity WaitingFor() const;
  void Add(Turn turn);
  void Want(Version version);

  // pulled_bytes_ belongs to the computing thread while `incoming_` is set, push_bytes_ unless
  // `push_` is.
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
  bool is_spoilt_ = false;           // The local copy is not finite.
  TransferTime transfer_time_;       // Taken when something is cut off.
};

}  // namespace paceline::worker
