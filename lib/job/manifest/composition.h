// Defines CompositionOf: a scheme and what is changed about it, for people.
#pragma once

#include <string>

#include "lib/job/manifest/spec/sync.h"

namespace paceline::job {

// "BSP", "KAsync(3)", "DBW+EagerPull+NARX", "SSP+reach=2+Drop": what is absent is left out.
std::string CompositionOf(const Sync& sync);

}  // namespace paceline::job
