// Defines Clock: the time of day, which statuses and certificates carry, handed in so that tests
// choose it.
#pragma once

#include <functional>

#include "lib/base/time.h"

namespace paceline::controller {

// From the Unix epoch, in whole seconds as Kubernetes writes them: what is written reads back
// equal.
using Clock = std::function<Time()>;

Time WallNow();

}  // namespace paceline::controller
