// Defines Script, for tests: feeds a policy lines of text and gives its decisions back as text.
//
// Example:
//   Script script("BSP batch=2 workers=2");
//   EXPECT_THAT(script.Feed("join w0"), IsEmpty());
//   EXPECT_THAT(script.Feed("push w0 #1 based-on=v0"), ElementsAre("accumulate w0 #1 weight=1"));
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/sync/schemes/policy_factory.h"
#include "lib/sync/trace/trace.h"

namespace paceline::sync::testing {

// Throws std::invalid_argument for lines and specs that cannot be read.
class Script {
 public:
  explicit Script(std::string_view spec) : policy_(Make(spec)) {}
  explicit Script(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}

  std::vector<std::string> Feed(std::string_view event) {
    std::vector<Decision> decisions;
    policy_->Observe(Value(ParseEvent(event)), now_, decisions);
    now_ += Seconds(1);
    std::vector<std::string> lines;
    for (const Decision& decision : decisions) lines.push_back(FormatDecision(decision));
    return lines;
  }

  // The decisions of all of them together.
  std::vector<std::string> FeedAll(const std::vector<std::string>& events) {
    std::vector<std::string> lines;
    for (const std::string& event : events) {
      for (std::string& line : Feed(event)) lines.push_back(std::move(line));
    }
    return lines;
  }

  const Policy& policy() const { return *policy_; }

  static std::unique_ptr<Policy> Make(std::string_view spec) {
    return Value(MakePolicy(Value(ParsePolicySpec(spec))));
  }

 private:
  template <class T>
  static T Value(StatusOr<T> result) {
    if (!result.ok()) throw std::invalid_argument(Message(result.status()));
    return *std::move(result);
  }

  std::unique_ptr<Policy> policy_;
  Time now_{};
};

}  // namespace paceline::sync::testing
