// Defines Replay: feeds the events of a trace to a policy made anew and compares its decisions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace paceline::sync {

struct ReplayDifference {
  size_t line = 0;       // Of the trace, from 1.
  std::string recorded;  // A decision; empty if the trace has none here.
  std::string replayed;  // A decision; empty if the policy decided nothing here.
};

struct ReplayResult {
  size_t policies = 0;  // A trace may hold several, one after the other, each with its header.
  size_t events = 0;
  size_t decisions = 0;  // Compared and found equal.
  size_t gaps = 0;       // Parts that are missing...
  size_t unchecked = 0;  // ...and events behind them, up to the next policy's header.
  std::optional<ReplayDifference> difference;  // The first; nothing behind it is replayed.
};

// `trace_text` is what TraceRecorder wrote, lines ended by '\n'. A last line without its end was
// cut off, and the decisions of the last event with it: what is missing there is no difference.
//
// InvalidArgument naming the line if it cannot be read.
StatusOr<ReplayResult> Replay(std::string_view trace_text);

}  // namespace paceline::sync
