// Defines MakeEngine: the engine at the point that a spec names.
#pragma once

#include <memory>
#include <string>

#include "lib/base/status.h"
#include "lib/sync/contract/policy.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

// InvalidArgument for what Validate refuses, DataLoss if `saved` is not what such a policy saved.
StatusOr<std::unique_ptr<Policy>> MakeEngine(const PolicySpec& spec, const std::string& saved);

}  // namespace paceline::sync
