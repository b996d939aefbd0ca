#include "lib/base/check.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace paceline::internal {

void CheckFailed(const char* file, int line, const char* condition, const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %s\n", file, line, condition, values.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace paceline::internal

namespace paceline {

void CheckGiven(bool is_given, const char* what) {
  if (!is_given) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace paceline
