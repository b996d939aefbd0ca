// Writes and reads times of day as RFC 3339 has them, in UTC: "2026-01-31T09:30:00Z".
//
// Example:
//   FormatTime(wall)                        // "2026-01-31T09:30:00Z"
//   FormatTimeMicros(wall)                  // "2026-01-31T09:30:00.000000Z"
//   ParseTime("2026-01-31T10:30:00+01:00")  // the same time
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"

namespace paceline {

// `time` counts from the Unix epoch. A fraction is written only if there is one, with nine digits.
std::string FormatTime(Time time);

// Always with six digits of fraction, the rest cut off: Kubernetes' MicroTime.
std::string FormatTimeMicros(Time time);

// Any offset, up to nine digits of fraction, years 1970 to 2200. Nothing if malformed.
std::optional<Time> ParseTime(std::string_view text);

}  // namespace paceline
