#include "lib/base/size_text.h"

#include <fmt/format.h>

namespace paceline {

std::string SizeText(uint64_t bytes) {
  if (bytes == 1) return "1 byte";
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  // What would be said as 1000.0 of one unit is said as 1.0 of the next.
  constexpr double kRoundedUp = 999.95;
  double size = static_cast<double>(bytes) / 1e3;
  const char* unit = "kB";
  for (const char* const larger : {"MB", "GB"}) {
    if (size < kRoundedUp) break;
    size /= 1e3;
    unit = larger;
  }
  return fmt::format("{:.1f} {}", size, unit);
}

}  // namespace paceline
