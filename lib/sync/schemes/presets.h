// Defines PresetOf: the point in the space of schemes that a named scheme is.
#pragma once

#include "lib/sync/schemes/coordinates.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

// `spec` is valid.
Coordinates PresetOf(const PolicySpec& spec);

}  // namespace paceline::sync
