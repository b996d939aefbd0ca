#include "tests/explore/walk.h"

#include <memory>
#include <unordered_set>
#include <utility>

#include "lib/base/check.h"
#include "lib/sync/schemes/engine/engine.h"

namespace paceline::sync::explore {
namespace {

class Walker {
 public:
  Walker(const Rule& rule, const Describe& describe) : rule_(rule), describe_(describe) {}

  WalkResult Run(const WorldOptions& options, std::unique_ptr<Policy> policy) {
    const SmallWorld world(options, std::move(policy), [this](const std::string& violation) {
      if (!problem_) problem_ = violation;
    });
    Visit(world);
    return std::move(result_);
  }

 private:
  // False if the walk is over.
  bool Visit(const SmallWorld& world) {
    if (!problem_) problem_ = rule_(world);
    if (!problem_ && world.IsAtRest()) problem_ = world.Disorder();
    if (problem_) {
      result_.finding = Finding{*problem_, way_};
      return false;
    }
    if (!seen_.insert(world.Fingerprint(describe_(world.policy()))).second) return true;
    ++result_.states;
    const std::vector<std::string> choices = world.Choices();
    if (choices.empty()) ++result_.ends;
    for (const std::string& choice : choices) {
      SmallWorld next(world);
      way_.push_back(choice);
      next.Take(choice);
      if (!Visit(next)) return false;
      way_.pop_back();
    }
    return true;
  }

  const Rule& rule_;
  const Describe& describe_;
  std::unordered_set<std::string> seen_;
  std::vector<std::string> way_;
  std::optional<std::string> problem_;
  WalkResult result_;
};

}  // namespace

std::string DescribePolicy(const Policy& policy) {
  const auto* const engine = dynamic_cast<const Engine*>(&policy);
  PACELINE_CHECK(engine != nullptr, "policy without a description");
  const std::string text = engine->DebugString();
  // The newest version comes first; as a number it changes nothing but the versions decided.
  return text.substr(text.find(' '));
}

WalkResult Walk(const WorldOptions& options, std::unique_ptr<Policy> policy, const Rule& rule,
                const Describe& describe) {
  return Walker(rule, describe).Run(options, std::move(policy));
}

}  // namespace paceline::sync::explore
