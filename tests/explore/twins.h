// Defines Twins: a policy and the one that is to take its place, told the same and compared.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/sync/contract/policy.h"
#include "lib/sync/trace/trace.h"

namespace paceline::sync::explore {

// Decides as `first`; reports, as text, what `second` decides otherwise.
class Twins : public Policy {
 public:
  Twins(std::unique_ptr<Policy> first, std::unique_ptr<Policy> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  void Observe(const Event& event, Time now, std::vector<Decision>& decisions) override {
    std::vector<Decision> ours, theirs;
    first_->Observe(event, now, ours);
    second_->Observe(event, now, theirs);
    if (Text(ours) != Text(theirs) && difference_.empty())
      difference_ = FormatEvent(event) + "\nfirst:\n" + Text(ours) + "second:\n" + Text(theirs);
    if (first_->Deadline() != second_->Deadline() && difference_.empty())
      difference_ = FormatEvent(event) + "\ndeadlines differ\n";
    decisions.insert(decisions.end(), ours.begin(), ours.end());
  }
  std::optional<Time> Deadline() const override { return first_->Deadline(); }
  bool WantsSpare() const override { return first_->WantsSpare() || second_->WantsSpare(); }
  std::string Save() const override { return first_->Save(); }
  std::unique_ptr<Policy> Clone() const override {
    auto twins = std::make_unique<Twins>(first_->Clone(), second_->Clone());
    twins->difference_ = difference_;
    return twins;
  }

  // The first there was; empty: none.
  const std::string& difference() const { return difference_; }

 private:
  static std::string Text(const std::vector<Decision>& decisions) {
    std::string text;
    for (const Decision& decision : decisions) text += "  " + FormatDecision(decision) + "\n";
    return text;
  }

  std::unique_ptr<Policy> first_;
  std::unique_ptr<Policy> second_;
  std::string difference_;
};

}  // namespace paceline::sync::explore
