// Defines PACELINE_CHECK: stops the program where the program itself is wrong.
//
// Not for bad input, which gets a Status, nor for refusals, which get a reason.
//
// Example:
//   PACELINE_CHECK(index < size, "index {} beyond size {}", index, size);
#pragma once

#include <string>

#include <fmt/format.h>

namespace paceline::internal {

// Prints the place, the condition and `values` to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& values);

}  // namespace paceline::internal

namespace paceline {

// For what the system gives and nothing can go on without: a descriptor to wait with. Throws
// std::system_error of errno, about `what`, if `is_given` is false. Where nobody catches it,
// lib/process/system_limits.h says which limit it was.
void CheckGiven(bool is_given, const char* what);

}  // namespace paceline

#define PACELINE_CHECK(condition, ...)                                                             \
  do {                                                                                             \
    if (!(condition)) [[unlikely]] {                                                               \
      ::paceline::internal::CheckFailed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
    }                                                                                              \
  } while (false)
