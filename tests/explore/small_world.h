// Defines SmallWorld: a handful of workers with a handful of samples, and everything that can
// happen to them next, so that a walk can try it all on a policy.
//
// It plays coordination's part: leases samples at each release, gives those of dropped pushes and
// lost workers back, reports OutOfData and SamplesReturned, publishes commits at once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/sync/contract/checked_policy.h"
#include "lib/sync/schemes/coordinates.h"

namespace paceline::sync::explore {

struct WorldOptions {
  PolicySpec spec;  // workers_expected of them join in the beginning.
  uint32_t samples_total = 9;
  uint32_t crashes = 0;     // Each of the following may happen so many times, at any moment.
  uint32_t joins = 0;       // Of the first crashed worker, if there is one, else of a new one.
  uint32_t non_finite = 0;  // Pushes.
  uint32_t abandons = 0;
  uint32_t quiesces = 0;                   // One at most.
  uint32_t deadlines = 0;                  // Of the policy, that pass before anything else happens.
  Duration per_choice{};                   // Time that passes with each choice.
  bool has_silent_ledger = false;          // Never says SamplesReturned.
  std::optional<PolicySpec> reconfigured;  // Told once, at any moment.
};

// What is seen of one worker from outside the policy.
struct SeenWorker {
  enum class State { kWaiting, kComputing, kFoundNothing, kOutOfData };
  State state = State::kWaiting;
  Version based_on;                // Of the step it computes.
  std::vector<uint32_t> leased;    // Samples of that step, and of those it may make beyond.
  uint32_t empty = 0;              // Of what it was sent on to, what found no samples to lease.
  std::optional<Version> offered;  // That it may go over to while it computes.
  uint64_t clock = 0;  // Pushes accumulated, raised to the slowest's when it joins or returns.
  bool was_released = false;    // Since it joined.
  bool is_interrupted = false;  // Was told to give its step up; may push all the same.
  uint32_t unanswered = 0;      // Eager pull: a push waits while the one before it is.
  bool is_starved = false;      // It was told of samples not found since it was sent on.
  // What answers brought, as far as a step may lack what came later, oldest first: pulls take as
  // long as they may, and the next step is computed on the first.
  std::deque<Version> pulled;
};

class SmallWorld {
 public:
  // Each violation is given to `report`, which must outlive all copies.
  SmallWorld(const WorldOptions& options, std::unique_ptr<Policy> policy,
             CheckedPolicy::Report report);
  SmallWorld(const SmallWorld& other);

  // What may happen next, as text; those that must happen some day first.
  std::vector<std::string> Choices() const;
  void Take(const std::string& choice);

  // Nothing happens any more but by chance, so everything must be in order.
  bool IsAtRest() const;
  // What is not: samples neither committed nor lost for a reason.
  std::optional<std::string> Disorder() const;

  // Equal texts, equal futures. `policy_state` is the policy's part.
  std::string Fingerprint(const std::string& policy_state) const;

  const Policy& policy() const { return policy_->inner(); }
  const std::map<WorkerId, SeenWorker>& workers() const { return workers_; }
  Version version() const { return version_; }
  bool is_stopping() const { return is_stopping_ || is_rolled_back_; }
  // The steps that accumulated pushes were computed on, with the version then newest; latest call.
  const std::vector<std::pair<Version, Version>>& accumulated_on() const { return accumulated_on_; }
  // The least clock of those that count.
  std::optional<uint64_t> Slowest() const;

 private:
  struct Push {
    uint32_t samples = 0;
    Version based_on;
  };

  void Happen(const std::string& choice);
  void SayWhatReturned();
  void Tell(const Event& event);
  void Apply(const Decision& decision, std::vector<Event>& consequences);
  void Release(const sync::Release& release);
  void Lease(SeenWorker& seen, uint32_t samples);
  bool IsEager() const { return at_.meanwhile == Meanwhile::kEagerPull; }
  static bool CountsEager(const SeenWorker& seen);
  void ReleaseEager(SeenWorker& seen, const sync::Release& release);
  void LeaseEager(SeenWorker& seen, uint32_t samples);
  // One push of the next `steps` that it may make.
  void PushFrom(WorkerId worker, bool is_finite, size_t steps = 1);
  void GiveBack(uint32_t samples);
  void Lose(WorkerId worker);
  void Join();

  WorldOptions left_;  // Of each chance, what is left.
  Coordinates at_;     // As the spec is now.
  std::unique_ptr<CheckedPolicy> policy_;
  std::map<WorkerId, SeenWorker> workers_;
  std::map<WorkerId, uint64_t> sequences_;
  std::map<std::pair<WorkerId, Sequence>, Push> staged_;
  std::optional<WorkerId> crashed_;
  bool is_stopping_ = false;
  bool is_rolled_back_ = false;
  uint32_t pool_ = 0;
  bool is_pool_news_ = false;  // For those who are starved.
  uint32_t accumulated_ = 0;
  uint32_t committed_ = 0;
  Version version_;
  uint64_t floor_ = 0;
  Time now_{};
  std::vector<std::pair<Version, Version>> accumulated_on_;
};

}  // namespace paceline::sync::explore
