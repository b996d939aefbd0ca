// Defines CheckedPolicy: decorates a policy and reports where it, or its driver, breaks the
// contract of policy.h.
//
// Passes every event and decision on unchanged, right or wrong. It demands that
// - each push is answered exactly once, and none that is not finite is accumulated;
// - a lost worker's pushes are answered in the call that tells of the loss;
// - a release names a waiting worker and a version that was committed; an offer a busy worker; who
//   waits for every answer is not sent on to two steps at once. With eager pull a worker may also
//   be released, or continued, while it has fewer than two leases;
// - who is out of data is released or continued only while samples are left of those that returned;
// - a commit is of the kind of pushes that its workers were told to make;
// - no commit is empty, and nothing is accumulated and never published;
// - nobody is released or continued after Quiesce or RollBack, and nothing is outstanding after the
//   deadline of Quiesce;
// - it is never silent: if somebody waits who has data or may find some, then somebody who has data
//   owes a push, or a commit is under way, or there is a deadline;
// - the driver reports pushes of workers that owe one only, based on what they were released on or
//   later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/id_table.h"
#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

class CheckedPolicy : public Policy {
 public:
  // Told of each violation, within Observe; copies are called by clones too. A silence is reported
  // when it begins.
  using Report = std::function<void(const std::string& violation)>;

  // Of `spec` it uses first_version, workers_expected and depth.
  CheckedPolicy(std::unique_ptr<Policy> policy, const PolicySpec& spec, Report report);

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override { return policy_->Deadline(); }
  bool WantsSpare() const override { return policy_->WantsSpare(); }
  void Tell(std::vector<Figure>& figures) const override { policy_->Tell(figures); }
  std::string Save() const override { return policy_->Save(); }
  std::unique_ptr<Policy> Clone() const override;

  const Policy& inner() const { return *policy_; }

 private:
  struct Member {
    uint32_t owed = 0;  // Steps that it was sent on to, and has not pushed.
    bool is_out_of_data = false;
    Pacing pacing = Pacing::kWait;  // Of its last release.
    uint32_t unanswered = 0;        // Pushes since its last release.
    std::vector<Version> released;  // What the next pushes are based on at least, in order.
    bool is_eager() const { return pacing == Pacing::kEagerPull; }
  };
  using PushId = std::pair<WorkerId, Sequence>;
  enum class Phase { kOpen, kQuiescing, kRolledBack };

  void Note(const WorkerJoined& event);
  void Note(const WorkerLeft& event);
  void Note(const PushArrived& push);
  void Note(const StepAbandoned& event);
  void Note(const StepCommitted& event);
  void Note(const OutOfData& event);
  void Note(const SamplesReturned& event);
  void Note(const Quiesce& event);
  void Note(const Reconfigured& event);
  template <class Other>
  void Note(const Other&) {}

  void Check(const Accumulate& decision);
  void Check(const Drop& decision);
  void Check(const Commit& decision);
  void Check(const Release& decision);
  void Check(const Offer& decision);
  void Check(const Continue& decision);
  void Check(const Interrupt& decision);
  void Check(const Expel& decision);
  void Check(const RollBack& decision);
  void Check(const Chosen&) {}

  // Of all members, so that an event costs the same however many there are.
  struct Counts {
    size_t busy = 0;         // Owe a push.
    size_t out_of_data = 0;  // Owe none, and are out of data.
  };
  void Count(const Member& member, int by);
  template <class F>
  void Change(Member& member, F change) {
    Count(member, -1);
    change(member);
    Count(member, +1);
  }
  void Forget(WorkerId worker);

  static bool HasAllLeases(const Member& member) { return member.owed > 1; }
  void CheckPushAnswered(WorkerId worker, Sequence sequence);
  void CheckMayGoOn(WorkerId worker, const Assignment& assignment);
  void UseUp(const Assignment& assignment);
  void CheckAllAnswered(Time now);
  void CheckSilence();
  Member* Find(WorkerId worker);
  template <class... Args>
  void Violation(fmt::format_string<Args...> format, Args&&... args) {
    report_(fmt::format(format, std::forward<Args>(args)...));
  }

  std::unique_ptr<Policy> policy_;
  Report report_;
  uint32_t joins_missing_;
  uint32_t depth_;
  Version committed_;
  Version published_;
  IdTable<WorkerId, Member> members_;
  Counts counts_;
  uint64_t samples_left_ = 0;          // Of those that returned.
  std::vector<WorkerId> asked_;        // Whose pushes this event may have left without an answer.
  std::map<PushId, bool> unanswered_;  // Whether the push is finite.
  size_t accumulated_ = 0;
  PushKind kind_ = PushKind::kGradient;  // Of the pushes of the latest release's pacing.
  Phase phase_ = Phase::kOpen;
  Time quiesce_deadline_{};
  bool is_silent_ = false;
};

}  // namespace paceline::sync
