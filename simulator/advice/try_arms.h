// Defines TryArms: the trials of all arms, one after the other, none for much longer than the
// recorded one's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "simulator/advice/candidates.h"
#include "simulator/advice/judge.h"
#include "simulator/advice/trials.h"
#include "simulator/driver/cluster.h"

namespace paceline::simulator {

// Told before each arm; a new list begins where none is done.
using OnArm = std::function<void(const std::string& name, size_t done, size_t all)>;

struct TriedArms {
  std::vector<TriedArm> tried;    // In their order; the recorded one is among them.
  std::vector<LeftOut> left_out;  // With the error of their lives.
};

// Tries each at the rate of `cluster` and at the best of its own. From the recorded one on a life
// takes SecondsForOthers at most, so that it is to be the first. `where` follows the name that
// `on_arm` is told. The error of the recorded arm's lives, if there is one.
StatusOr<TriedArms> TryArms(std::vector<TriedArm> arms, ClusterOptions cluster,
                            const TryOptions& options, const std::string& where,
                            const OnArm& on_arm);

}  // namespace paceline::simulator
