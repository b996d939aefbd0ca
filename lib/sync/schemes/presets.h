// Defines PresetOf: the point in the space of schemes that a named scheme is, and CoordinatesOf:
// the one that a spec is, which may change parts of its scheme.
#pragma once

#include "lib/sync/schemes/coordinates.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

// As the scheme's paper has it, with the spec's knobs, its parts left out.
Coordinates PresetOf(const PolicySpec& spec);

// Whether the scheme leaves the number of pushes that make a version to the spec.
bool IsKToBeSaid(Scheme scheme);

// Of any spec, of one that is refused (refusals.h) too.
Coordinates CoordinatesOf(const PolicySpec& spec);

}  // namespace paceline::sync
