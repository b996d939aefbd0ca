// Chooses what a worker computes on.
#pragma once

#include <string>

#include "lib/base/status.h"

namespace paceline::worker {

// What --device says ("cpu", "cuda", "cuda-if-usable"; checked) comes to on this machine, as
// lib/learn names it. FailedPrecondition where a GPU was asked for that cannot be used; where it is
// only wanted, the CPU, said in the log.
StatusOr<std::string> ChooseDevice(const std::string& wish);

}  // namespace paceline::worker
