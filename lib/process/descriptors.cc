#include "lib/process/descriptors.h"

#include <sys/resource.h>

namespace paceline::process {

void RaiseDescriptorLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);  // To one's own maximum is always allowed.
}

}  // namespace paceline::process
