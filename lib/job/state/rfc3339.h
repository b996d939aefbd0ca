// Times of the manifest are written as lib/base/rfc3339.h does; here under the job's own name.
#pragma once

#include "lib/base/rfc3339.h"

namespace paceline::job {

using paceline::FormatTime;
using paceline::ParseTime;

}  // namespace paceline::job
