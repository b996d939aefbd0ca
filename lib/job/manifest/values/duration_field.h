// Reads and writes fields of time: a whole number of seconds, or a duration (duration_text.h). A
// number with a fraction is none, since an API server's int-or-string takes none (docs/adr/0040).
#pragma once

#include <string_view>

#include "lib/base/status.h"
#include "lib/base/time.h"
#include "lib/job/manifest/node.h"

namespace paceline::job {

enum class Grain { kNanoseconds, kWholeSeconds };

// What such a field must be.
std::string_view DurationForm(Grain grain);

// Whether it is a whole number, of seconds, and is read as any number.
bool IsWholeNumber(const Node& node);

// Of what is no whole number. InvalidArgument says what is right, what was found and, where that
// can be told, how to write it.
StatusOr<Duration> ReadDuration(const Node& node, Grain grain);

// A whole number where it is one, otherwise a duration. Of what no field of time can hold, such as
// -0.5, a number that reading refuses.
Node WriteDuration(double seconds);

}  // namespace paceline::job
