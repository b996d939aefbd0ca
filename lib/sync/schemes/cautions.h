// Defines CautionsOf: which parts of a scheme work together, and yet are not what most would want.
#pragma once

#include <string>
#include <vector>

#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

// About a part of spec.sync, as manifests name it.
struct Caution {
  std::string part;
  std::string text;
};

// Of a spec that RefusalOf has nothing to say of; for people.
std::vector<Caution> CautionsOf(const PolicySpec& spec);

}  // namespace paceline::sync
