#include "lib/process/file_size.h"

#include <csignal>

namespace paceline::process {

void RefuseLargeFiles() { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace paceline::process
