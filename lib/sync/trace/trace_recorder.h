// Defines TraceRecorder: decorates a policy and writes its trace, in the format of trace.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

class TraceRecorder : public Policy {
 public:
  // Given each line without its end, in order, within the constructor and Observe.
  using Sink = std::function<void(std::string_view line)>;

  // Of a trace in parts, of which early ones are thrown away.
  struct Parts {
    std::function<bool()> is_full;  // Asked between two events.
    // A part begins. `snapshot` are lines of a trace that a reader without the parts before begins
    // with: the policy as it is configured now, what it saves, and who has joined.
    std::function<void(const std::vector<std::string>& snapshot)> begin;
  };

  // `spec` and `saved` are what `policy` was made from. Writes the header at once.
  TraceRecorder(std::unique_ptr<Policy> policy, const PolicySpec& spec, const std::string& saved,
                Sink sink, std::optional<Parts> parts = std::nullopt);

  // The event's line is written before the policy sees it, so that a crash leaves its cause behind.
  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override;
  std::optional<Time> Deadline() const override { return policy_->Deadline(); }
  bool WantsSpare() const override { return policy_->WantsSpare(); }
  void Tell(std::vector<Figure>& figures) const override { policy_->Tell(figures); }
  std::string Save() const override { return policy_->Save(); }

  // Of the decorated policy alone: what a copy is asked did not happen.
  std::unique_ptr<Policy> Clone() const override { return policy_->Clone(); }

 private:
  void Note(const Event& event);
  std::vector<std::string> Snapshot(Time now) const;

  std::unique_ptr<Policy> policy_;
  Sink sink_;
  std::optional<Parts> parts_;
  PolicySpec spec_;  // As it is now.
  std::set<WorkerId> members_;
};

}  // namespace paceline::sync
