// Defines Occurrence: what somebody in a simulated cluster did, for those who want to see it all.
#pragma once

#include <cstdint>

#include "lib/base/time.h"
#include "lib/base/version.h"

namespace paceline::simulator {

struct Occurrence {
  enum class What : uint8_t {
    kCompute,    // A step, or what was made of it.
    kPull,       // A transfer, from when it began.
    kPush,       // Likewise.
    kGaveUp,     // A moment: the worker was told to.
    kDropped,    // A moment: so many pushes of it came to nothing.
    kPublished,  // A moment, of the server: `version`, which holds so many pushes.
  };
  What what = What::kCompute;
  uint32_t worker = 0;  // Not of kPublished.
  Time from{};
  Time to{};  // Of a moment: `from`.
  Version version;
  uint64_t pushes = 0;
};

}  // namespace paceline::simulator
