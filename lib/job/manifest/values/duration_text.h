// Durations as a manifest writes them beside seconds: hours, minutes, seconds and milliseconds, in
// this order, each at most once and with up to six decimals. Go's time.ParseDuration, which an API
// server's CEL has, reads each of them as the same number of nanoseconds.
//
// Example:
//   ParseDuration("1h30m")                          // 5400 s
//   ParseDuration("1h 30m"), ParseDuration("-5s")   // nothing
//   FormatDuration(std::chrono::milliseconds(500))  // "500ms"
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"

namespace paceline::job {

inline constexpr Duration kDurationMax = std::chrono::seconds(1'000'000'000);  // About 31 years.
inline constexpr size_t kDurationBytesMin = 2;
inline constexpr size_t kDurationBytesMax = 32;

// What ParseDuration takes, as a regular expression (RE2); of length it says nothing.
std::string DurationPattern();

// Nothing: not of that form. Whatever is longer than kDurationMax may come back as any such.
std::optional<Duration> ParseDuration(std::string_view text);

// ParseDuration(FormatDuration(d)) == d, from 0 to kDurationMax.
std::string FormatDuration(Duration duration);

// SecondsOf(NearestDuration(SecondsOf(d))) == SecondsOf(d), from 0 to kDurationMax; ToSeconds and
// Seconds of lib/base/time.h round twice.
double SecondsOf(Duration duration);
Duration NearestDuration(double seconds);  // From 0 to kDurationMax.

}  // namespace paceline::job
