// Defines the text of events and decisions: one line each, read and written both ways.
//
//   push w0 #1 based-on=v0 samples=64 loss=0.5 norm2=2.25 compute=0.125
//   accumulate w0 #1 weight=64
//   commit scale=0.015625
//   release w0 at v1 exact samples=64
//
// Fields at their defaults are left out (a release is at-least unless it says exact). Numbers are
// written so that reading gives the same bits back; durations in seconds, to the nanosecond.
//
// A trace is a header, then events, each with the decisions that it led to, indented:
//
//   policy BSP batch=64 workers=1
//   @0.5 push w0 #1 based-on=v0 samples=64
//     accumulate w0 #1 weight=64
//
// Empty lines and those beginning with '#' say nothing. Where a part of a long trace was thrown
// away stands
//
//   gap 1..2
//
// and then what stands in for it: the header of the policy as it was configured at its end, what
// that would have saved, and a join of each worker that was there. What else the policy had in mind
// then, pushes above all, is lost: until the next header no decision can be compared.
#pragma once

#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/sync/contract/decision.h"
#include "lib/sync/contract/event.h"

namespace paceline::sync {

std::string FormatEvent(const Event& event);
std::string FormatDecision(const Decision& decision);
std::string FormatTime(Time time);  // "@0.5"

// InvalidArgument naming the field, its value and what would be right.
StatusOr<Event> ParseEvent(std::string_view line);
StatusOr<Decision> ParseDecision(std::string_view line);
StatusOr<Time> ParseTime(std::string_view text);

// The lines of a trace's header: the spec and, where a policy was restored, what it had saved.
inline constexpr std::string_view kTracePolicy = "policy ";
inline constexpr std::string_view kTraceSaved = "saved ";  // Followed by hexadecimal bytes.

inline constexpr std::string_view kTraceGap = "gap ";

inline constexpr std::string_view kTraceReconfigured = "reconfigured ";  // Followed by a spec.

std::string EncodeHex(std::string_view bytes);
StatusOr<std::string> DecodeHex(std::string_view text);

}  // namespace paceline::sync
