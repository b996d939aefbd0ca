// Defines LayImageNodes: which nodes have what our own images are for (docs/adr/0093).
#pragma once

#include <string>
#include <string_view>

#include "operator/objects/metadata.h"
#include "operator/objects/options.h"

namespace paceline::controller {

// As Kubernetes names that of this program: "amd64", "arm64"; empty: unknown. All our images are
// built on one machine, for it.
std::string_view OwnArchitecture();

// A pod whose container has one of the images of `options` goes to nodes with Linux and, where
// options.image_architecture names one, of that architecture. What the pod's template says of
// either, in nodeSelector or in what its node affinity requires, or of the node by name, stays as
// it is, and a pod with an image of its own gets nothing.
void LayImageNodes(const ObjectOptions& options, std::string_view container, Json& spec);

}  // namespace paceline::controller
