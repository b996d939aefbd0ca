// Defines Walk: goes every way through a SmallWorld, each state once.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/explore/small_world.h"

namespace paceline::sync::explore {

// What is wrong with a world that the policy's contract does not already forbid; nothing if all is
// well.
using Rule = std::function<std::optional<std::string>(const SmallWorld&)>;

struct Finding {
  std::string problem;
  std::vector<std::string> way;  // The choices that lead there.
};

struct WalkResult {
  size_t states = 0;
  size_t ends = 0;  // States with no choice left.
  std::optional<Finding> finding;
};

// The state of a policy as text: equal texts, equal futures.
using Describe = std::function<std::string(const Policy&)>;

// Describes the policies of lib/sync, but for the number of the newest version.
std::string DescribePolicy(const Policy& policy);

// Stops at the first finding: a breach of the contract, of `rule`, or disorder at rest.
WalkResult Walk(const WorldOptions& options, std::unique_ptr<Policy> policy, const Rule& rule,
                const Describe& describe = DescribePolicy);

}  // namespace paceline::sync::explore
