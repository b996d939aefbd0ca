#include "lib/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace paceline::internal {

void CheckFailed(const char* file, int line, const char* condition, const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, values.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace paceline::internal
