// Says of a container whether its image is for machines of another kind than its node's: what
// kubelets and container runtimes report of that (docs/adr/0093).
#pragma once

#include <string>
#include <string_view>

#include "operator/objects/metadata.h"

namespace paceline::controller {

// How a container ended, or why it could not begin: the kernel knows no such program. Only where
// that is all that there is: a program that ran may say so of another one.
bool IsForeignProgram(const Json& terminated);

// Why a container waits: a node that cannot run its image, or for which the image has nothing.
bool IsForForeignImage(std::string_view waiting_message);

// For people: which image, what to do, and what was reported. An empty image is that of an init
// container.
std::string DescribeForeign(std::string_view image, std::string_view said);

}  // namespace paceline::controller
