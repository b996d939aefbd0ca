// Applies "spec.sync.ssp.staleness=3" to a manifest before it gets its meaning.
#pragma once

#include <string_view>

#include "lib/base/status.h"
#include "lib/job/manifest/node.h"

namespace paceline::job {

// `override` is PATH=VALUE. PATH is dotted, with [3] for a list's element (one past the last
// appends) and
// ["a.b/c"] for a key with dots; objects on the way are made. VALUE is YAML: 3, true, Cosine,
// {maxEpochs: 2}, [1, 2], null (takes the field away).
//
// InvalidArgument if either cannot be read, or the path leads through something that is no object
// or list; `root` is then unchanged. Whether the path names a known field is Decode's to say.
Status ApplyOverride(Node& root, std::string_view override);

}  // namespace paceline::job
