#include "lib/process/read_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace paceline::process {

StatusOr<std::string> ReadFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return InvalidArgument("is a folder, not a file: {}", path);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int error = errno;
    if (error == EACCES) return PermissionDenied("cannot read {}: {}", path, std::strerror(error));
    return NotFound("cannot read {}: {}", path, std::strerror(error));
  }
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace paceline::process
