// Defines Published, a state of the parameters that readers may hold.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/base/version.h"

namespace paceline::store {

// A published state: immutable for as long as anybody holds it.
struct Published {
  Version version;
  std::vector<std::byte> bytes;  // The slice, arranged as the layout.
};

}  // namespace paceline::store
