// Defines LabelSelector: which objects are meant.
//
// Example:
//   PACELINE_ASSIGN_OR_RETURN(LabelSelector selector, LabelSelector::Parse("app=web,tier in
//   (a,b)")); selector.Matches(Labels(pod)); LabelSelector::Of({{"app", "web"}}).ToString()   //
//   "app=web", as the API's labelSelector wants
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/kube/core/json.h"
#include "lib/kube/core/metadata.h"

namespace paceline::kube {

class LabelSelector {
 public:
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  struct Requirement {
    std::string key;
    Operator op = Operator::kExists;
    std::vector<std::string> values;  // Sorted; of kIn and kNotIn only.
    friend bool operator==(const Requirement&, const Requirement&) = default;
  };

  LabelSelector() = default;  // Matches everything.

  static LabelSelector Of(const StringMap& labels);
  // "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b)", "a", "!a", joined by commas.
  // InvalidArgument with the position.
  static StatusOr<LabelSelector> Parse(std::string_view text);
  // {"matchLabels": ..., "matchExpressions": ...}. InvalidArgument naming the field.
  static StatusOr<LabelSelector> FromJson(const Json& selector);

  bool Matches(const StringMap& labels) const;
  bool IsEmpty() const { return requirements_.empty(); }
  std::string ToString() const;
  const std::vector<Requirement>& requirements() const { return requirements_; }

  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;

 private:
  std::vector<Requirement> requirements_;  // All have to hold.
};

}  // namespace paceline::kube
