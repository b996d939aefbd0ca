// Computes what brings an object back to what it was planned as.
#pragma once

#include <optional>

#include "operator/objects/metadata.h"

namespace paceline::controller {

// A merge patch of `live`, or nothing where all of `wanted` is there. What `wanted` does not speak
// of is the API server's or somebody else's and stays, but for the members of data, selector and
// matchLabels, of which one more means something else. So does another value of a label that tools
// share (app.kubernetes.io/...), and, of what was written from the same `wanted`, of any label or
// annotation that is not Paceline's own (paceline.dev/...): for their sake nothing is patched. A
// list that differs is replaced whole. The patch holds the version of `live`: another one is a
// conflict.
std::optional<Json> PatchTowards(const Json& live, const Json& wanted);

}  // namespace paceline::controller
