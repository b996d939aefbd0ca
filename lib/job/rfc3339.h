// Writes and reads times of the manifest: RFC 3339, UTC, "2026-01-31T09:30:00Z".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/time.h"

namespace paceline::job {

// `time` counts from the Unix epoch. A fraction is written only if there is one, with nine digits.
std::string FormatTime(Time time);

// Any offset, up to nine digits of fraction, years 1970 to 2200. Nothing if malformed.
std::optional<Time> ParseTime(std::string_view text);

}  // namespace paceline::job
