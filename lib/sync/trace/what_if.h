// Defines WhatIf: what another policy would have decided on the events of a trace.
//
// Events follow from decisions. Up to the first event on which the other policy decides otherwise
// the answer is exact; behind it the trace tells of a life that the other would not have had. It is
// kept on the trace's rails there: whenever the recorded policy's version is published and the
// other's is not that one, the other begins its next round there, with what it has learnt and the
// same workers. What it waits for in each round is then an estimate, never a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/sync/schemes/policy_spec.h"

namespace paceline::sync {

// An event with all decisions that it led to, as text.
struct WhatIfDifference {
  size_t line = 0;  // Of the event in the trace, from 1.
  std::string event;
  std::vector<std::string> recorded, other;
};

// Of pushes that make a version.
struct PushCount {
  uint64_t versions = 0;
  double sum = 0, least = 0, most = 0;
  void Add(double pushes);
  double mean() const { return versions == 0 ? 0 : sum / static_cast<double>(versions); }
};

// From the first difference on, of each version that was recorded.
struct OnRails {
  uint64_t sooner = 0;  // The other would have committed before the push that the recorded one had
  uint64_t alike = 0;   // waited for, with it,
  uint64_t later = 0;   // or would have gone on waiting.
  PushCount recorded, other;  // What each waited for.
};

struct WhatIfResult {
  size_t events = 0;                           // Until the first difference.
  size_t decisions = 0;                        // Found equal until then.
  uint64_t versions = 0;                       // Recorded until then.
  std::optional<WhatIfDifference> difference;  // Or the first gap, as its event.
  uint64_t gaps = 0;                           // Parts of the trace that are missing.
  OnRails after;
};

// `other` stands in the place of each policy of the trace; workers and versions are the trace's.
// `trace_text` as for Replay; a last event that is cut off is left out. InvalidArgument naming the
// line if it cannot be read, or for a spec that MakePolicy refuses.
StatusOr<WhatIfResult> ReplayWith(std::string_view trace_text, const PolicySpec& other);

}  // namespace paceline::sync
