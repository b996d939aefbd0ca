// Reads a manifest in one call: text, overrides, defaults, checks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/job/checks/capabilities.h"
#include "lib/job/manifest/decode.h"

namespace paceline::job {

// YAML or JSON text, then the overrides in order (overrides.h), then defaults, then all checks. The
// job is fit to run if there are no errors; otherwise the errors are all there are, in the order of
// the text.
Decoded LoadJob(std::string_view text, const std::vector<std::string>& overrides,
                const Capabilities& capabilities);

}  // namespace paceline::job
