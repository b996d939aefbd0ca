#include "lib/job/last_line.h"

namespace paceline::job {

std::string LastLine(std::string_view output) {
  const size_t end = output.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos) return "";
  output = output.substr(0, end + 1);
  return std::string(output.substr(output.rfind('\n') + 1));
}

}  // namespace paceline::job
