// Defines WaitingWorker: one that waits for the answer to each push (sync::Pacing::kWait).
#pragma once

#include <optional>

#include "simulator/driver/virtual_worker.h"

namespace paceline::simulator {

class WaitingWorker final : public VirtualWorker {
 public:
  using VirtualWorker::VirtualWorker;

  void Release(const protocol::Released& released) override;
  void Continue(const protocol::Continued&) override {}
  // It is of use to whoever computes on it later, and nobody does before a release says so.
  void Offer(Version) override {}
  void Interrupt(Sequence sequence) override;

 private:
  enum class Doing { kWaiting, kPulling, kComputing, kPushing };

  void Computed() override;
  void GivenUp() override;
  void Pulled() override;
  void Pushed() override;

  void GoOn();  // With the pull that its step needs, or with computing.

  Doing doing_ = Doing::kWaiting;
  protocol::Lease lease_;  // Of the step in work, or of the last one, as all until `has_`.
  Copy base_;              // What it is, or will be, computed on.
  Time push_began_{};

  std::optional<Copy> has_;       // That was pulled last.
  std::optional<Copy> fetching_;  // On its way.
};

}  // namespace paceline::simulator
