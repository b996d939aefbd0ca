// Defines RefusalOf: which parts of a scheme make no sense together, and why.
#pragma once

#include <optional>
#include <string>

#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

// The part of spec.sync that is wrong, as manifests name it, and what would be right: "must be
// ...".
struct Refusal {
  std::string part;
  std::string reason;
};

// The first there is; absent: none. That numbers are in range is Validate's to see.
std::optional<Refusal> RefusalOf(const PolicySpec& spec);

}  // namespace paceline::sync
