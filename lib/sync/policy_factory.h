// Defines MakePolicy: from a PolicySpec to the state machine that it names.
#pragma once

#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/sync/policy.h"
#include "lib/sync/policy_spec.h"

namespace paceline::sync {

// `saved` is what Policy::Save of the same scheme gave, or empty.
//
// InvalidArgument if a knob is out of range, DataLoss if `saved` is not of this scheme.
StatusOr<std::unique_ptr<Policy>> MakePolicy(const PolicySpec& spec, const std::string& saved = "");

}  // namespace paceline::sync
