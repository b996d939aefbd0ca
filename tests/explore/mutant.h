// Defines Mutant: a policy of lib/sync with one planted bug, to prove that a walk would find it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/sync/contract/policy.h"

namespace paceline::sync::explore {

enum class Bug {
  kForgetsLossAtBarrier,   // Looks at the barrier again only when the next event comes.
  kCountsDeadWorker,       // Never hears of a loss.
  kForgetsJoiner,          // Never hears of a join after the first ones.
  kReleasesBusyWorker,     // Sends everybody on whenever it sends somebody.
  kAnswersTwice,           // Accumulates a push again.
  kAnswersNever,           // Forgets pushes that it does not use.
  kCommitsEmpty,           // Commits once more after a commit.
  kForgetsCommit,          // Accumulates, releases, and publishes nothing.
  kReleasesUncommitted,    // Sends workers on to a version that nobody made.
  kUsesLatePush,           // Takes an old gradient for one of the newest version.
  kUsesNonFinite,          // Does not look whether a push is finite.
  kIgnoresOutOfData,       // Waits for whoever has nothing to compute on.
  kForgetsWhoIsOutOfData,  // Never releases them again.
  kIgnoresReturns,         // Never hears that samples came back.
  kLooksAtEachCommit,      // Releases who is out of data at each commit, as if samples came back.
  kIgnoresQuiesce,         // Goes on while it should stop.
};

class Mutant : public Policy {
 public:
  Mutant(Bug bug, std::unique_ptr<Policy> sane) : bug_(bug), sane_(std::move(sane)) {}
  Mutant(const Mutant& other)
      : bug_(other.bug_),
        sane_(other.sane_->Clone()),
        held_back_(other.held_back_),
        is_out_of_data_(other.is_out_of_data_),
        has_released_(other.has_released_),
        owes_(other.owes_) {}

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override { return sane_->Deadline(); }
  std::string Save() const override { return sane_->Save(); }
  std::unique_ptr<Policy> Clone() const override { return std::make_unique<Mutant>(*this); }

  // Equal lines, equal futures.
  std::string DebugString() const;

 private:
  bool Swallows(const Event& event);
  Event Misheard(const Event& event) const;
  void Garble(const Decision& decision, std::vector<Decision>& decisions);

  Bug bug_;
  std::unique_ptr<Policy> sane_;
  std::vector<Event> held_back_;
  std::map<WorkerId, bool> is_out_of_data_;
  bool has_released_ = false;
  std::map<WorkerId, Version> owes_;
};

}  // namespace paceline::sync::explore
