// Gives a plain YAML scalar the type that kubectl would give it.
#pragma once

#include <string>

#include "lib/job/manifest/node.h"

namespace paceline::job {

// null, true (also yes, on, y), false, a whole number (also 0x1f, 0o17, 017, 0b1, 1_000), a float
// (also .5, 1e3, .inf, .nan), otherwise a string. A whole number beyond 64 bits becomes a float.
Node ResolveScalar(const std::string& text);

}  // namespace paceline::job
