// Defines RefuseLargeFiles.
#pragma once

namespace paceline::process {

// From now on what would exceed a limit on the size of files (ulimit -f) fails with EFBIG, as a
// write to a full disk does, instead of killing this process. Shared memory counts as a file.
void RefuseLargeFiles();

}  // namespace paceline::process
