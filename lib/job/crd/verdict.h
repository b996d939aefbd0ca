// Says what the CustomResourceDefinition makes of a manifest, without an API server: a test
// compares the two for every manifest of tests/golden/manifests.
#pragma once

#include <vector>

#include "lib/job/manifest/decode.h"
#include "lib/job/manifest/field_error.h"

namespace paceline::job {

// Of the errors of a manifest loaded with Capabilities::All(), those that the API server finds too.
// It drops a status that comes with a new object; volume sources that Paceline does not know, pod
// templates and claim templates are opaque to it. None: it accepts the manifest.
std::vector<FieldError> ApiServerErrors(const Decoded& loaded);

}  // namespace paceline::job
